/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The dynamic linker of a target, and where in it one sees that it has mapped or unmapped libraries.
 */
#ifndef GPUPROBE_PROCESS_LOADER_H
#define GPUPROBE_PROCESS_LOADER_H

#include "process/modules.h"

/* File offset of the function that it calls for debuggers at each change. -ENOENT: the module is no dynamic
 * linker; -EINVAL: it is one, but the function was not found in it. Reads its symbols. */
int loader_find(const struct code_module *module, u64 *ret_offset);

#endif
