/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts of a recording that may be the name of a kernel that is a function of Python: identifiers that agents sent. Gathered from batches
 * on their way to the capture, so that it need not be read for this.
 */
#ifndef GPUPROBE_STORE_KERNEL_TEXTS_H
#define GPUPROBE_STORE_KERNEL_TEXTS_H

#include "base/map.h"
#include "store/batch.h"

#define KERNEL_TEXTS_MAX 65536

/* Zero-initialise. */
struct kernel_texts {
	struct string_table table;
	bool has_kernels; /* there was work of a GPU at all */
};

void kernel_texts_add_batch(struct kernel_texts *names, const struct batch *batch);
void kernel_texts_free(struct kernel_texts *names);

#endif
