/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call stacks in a database of Nsight Systems (CUDA_CALLCHAINS, OSRT_CALLCHAINS), and instructions that faulted, as stacks
 * of ours with a fact for each frame. Only for import/nsys*.c.
 */
#ifndef GPUPROBE_IMPORT_NSYS_STACKS_H
#define GPUPROBE_IMPORT_NSYS_STACKS_H

#include "import/nsys_import.h"

/* -EINVAL: a table has not the columns that it has to have. nsys_stacks_close() in any case. */
int nsys_stacks_open(struct nsys_import *import, struct err *err);
void nsys_stacks_close(struct nsys_import *import);

/* The stack of a chain; 0: it has none. */
int nsys_stack_get(struct nsys_import *import, struct nsys_process *process,
		   enum nsys_chains chains, s64 chain, u32 *ret_stack, struct err *err);
/* A stack of one instruction. symbol, module: texts, 0: unknown; address: 0: unknown. */
int nsys_instruction_get(struct nsys_import *import, struct nsys_process *process, u32 symbol,
			 u32 module, u64 address, u32 *ret_stack, struct err *err);

#endif
