/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which instructions a program can do instead of the kernel, and how: for bpf/displaced.h. */
#ifndef GPUPROBE_CODE_DISPLACED_H
#define GPUPROBE_CODE_DISPLACED_H

#include "code/instruction.h"
#include "../bpf/displaced.h"

/* Describes what stands at *bytes. False: a program can't do it, or must not (memory, the stack pointer). */
bool decoder_displace(struct decoder *decoder, const u8 *bytes, size_t size, u64 address,
		      struct displaced_instruction *ret_instruction);

#endif
