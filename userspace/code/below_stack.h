/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that keep something below their stack pointer (the red zone of x86-64): only those that call nothing can. */
#ifndef GPUPROBE_CODE_BELOW_STACK_H
#define GPUPROBE_CODE_BELOW_STACK_H

#include "code/instruction.h"
#include "elf/elf_file.h"

/* May the function around this address? True also where its extent is not known, or not all of it can be decoded. */
bool function_may_keep_below_stack(const struct elf_file *file, const struct elf_symbols *symbols,
				   struct decoder *decoder, u64 address);

#endif
