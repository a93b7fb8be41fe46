/* The arguments of a function, at its entry. */
#ifndef GPUPROBE_BPF_ARGUMENTS_H
#define GPUPROBE_BPF_ARGUMENTS_H

#include "types.h"
#include "arch_x86_64.h"

/* Numbered from 1 on; 0: 0. sp: as at its first instruction. False, with 0: it can't be read. */
static __always_inline bool argument_read(const struct pt_regs *registers, u64 sp, u32 number,
					  u64 *ret_value)
{
	*ret_value = 0;
	if (number <= ARCH_REGISTER_ARGUMENTS) {
		*ret_value = arch_argument(registers, number);
		return true;
	}
	/* The first one lies above the return address. */
	return !bpf_probe_read_user(ret_value, sizeof(*ret_value),
				    (void *)(sp + 8 * (number - ARCH_REGISTER_ARGUMENTS)));
}

/* 0 where it can't be read. */
static __always_inline u64 allocation_argument(const struct pt_regs *registers, u64 sp, u32 number)
{
	u64 value;

	argument_read(registers, sp, number, &value);
	return value;
}

#endif
