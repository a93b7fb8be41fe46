/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that allocate memory or give it back. */
#ifndef GPUPROBE_PLAN_ALLOCATORS_H
#define GPUPROBE_PLAN_ALLOCATORS_H

#include "base/types.h"
#include "../bpf/allocator.h"

/* That of this name; NULL: it is none. Lives for ever. */
const struct allocator *allocator_find(const char *name);

#endif
