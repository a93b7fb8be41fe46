/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that allocate host memory or give it back: the rows of heap_functions.def. */
#ifndef GPUPROBE_PLAN_HEAP_FUNCTIONS_H
#define GPUPROBE_PLAN_HEAP_FUNCTIONS_H

#include "base/types.h"
#include "../bpf/allocator.h"

/* That of this name in a file, its library's prefix included; NULL: it is none. Lives for ever. */
const struct allocator *heap_function_find(const char *name);
/* Is it one of C++, which calls those of C, or is of a library that has both? */
bool heap_function_is_operator(const char *name);

#endif
