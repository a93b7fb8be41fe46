/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files that decode x86-64 share: instruction_x86_64.c, instruction_cost_x86_64.c, displaced_x86_64.c. */
#ifndef GPUPROBE_CODE_INSTRUCTION_PARTS_H
#define GPUPROBE_CODE_INSTRUCTION_PARTS_H

#include <capstone/capstone.h>

#include "base/types.h"

struct decoder {
	csh handle;
	cs_insn *instruction;
	u64 left; /* so many more are read */
};

/* As machine code numbers it, whatever part of it is named; REGISTER_RIP; REGISTER_NONE: no general one. */
u8 instruction_register_number(x86_reg reg);

#endif
