/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which kernels work with 16-bit floating point: as the arguments of the library call say that launched them, else by their names
 * (kernel_precision.def).
 */
#ifndef GPUPROBE_EXPORTERS_XPLANE_KERNEL_PRECISION_H
#define GPUPROBE_EXPORTERS_XPLANE_KERNEL_PRECISION_H

#include "base/map.h"
#include "view/view.h"

/* Names that were looked at: zero-initialise. */
struct kernel_precision {
	struct map known; /* name's address -> 1: 16 bits */
};

/* Of a kernel's event; ret_half: it is known to work with 16 bits. 0 or -ENOMEM. */
int kernel_precision_find(struct kernel_precision *precision, const struct view_event *event, bool *ret_half);
void kernel_precision_free(struct kernel_precision *precision);

/* The same of a name, unremembered. */
bool kernel_name_is_half(const char *name);

#endif
