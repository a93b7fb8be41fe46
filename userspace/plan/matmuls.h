/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of libraries that multiply matrices, with their sizes as arguments. */
#ifndef GPUPROBE_PLAN_MATMULS_H
#define GPUPROBE_PLAN_MATMULS_H

#include "base/types.h"
#include "../bpf/matmul.h"

/* That of this name; NULL: it is none. Lives for ever. */
const struct matmul_arguments *matmul_find(const char *name);
/* How many arguments on the stack have to be read to see all of it: struct matmul_arguments.on_stack. */
u8 matmul_stack_arguments(const struct matmul_arguments *arguments);
/* The registers in which it has what is read; a set as in code/instruction.h. */
u32 matmul_registers(const struct matmul_arguments *arguments);

#endif
