/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The arguments of a function, at its entry. */
#ifndef GPUPROBE_BPF_ARGUMENTS_H
#define GPUPROBE_BPF_ARGUMENTS_H

#include "types.h"
#include "arch_x86_64.h"

/* Numbered from 1 on; 0: 0. sp: as at its first instruction. */
static __always_inline u64 allocation_argument(const struct pt_regs *registers, u64 sp, u32 number)
{
	u64 value = 0;

	if (number <= ARCH_REGISTER_ARGUMENTS)
		return arch_argument(registers, number);
	/* The first one lies above the return address. */
	bpf_probe_read_user(&value, sizeof(value),
			    (void *)(sp + 8 * (number - ARCH_REGISTER_ARGUMENTS)));
	return value;
}

#endif
