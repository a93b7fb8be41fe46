/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cs_open names the decoders of all processors that Capstone knows, so a linker takes them all from its archive: 4.8 MB of
 * which we use 1.6. Here stand functions of the same names for the others, in one object with the call of cs_open: they are
 * known when the archive is read, so what it has under these names stays there. A processor that a later Capstone adds is
 * linked until it has a row here.
 */
#include "code/capstone_x86_64.h"

#define ABSENT(processor)                                                         \
	cs_err processor##_global_init(void *decoder);                            \
	cs_err processor##_option(void *decoder, cs_opt_type type, size_t value); \
	cs_err processor##_global_init(void *decoder)                             \
	{                                                                         \
		return CS_ERR_ARCH;                                               \
	}                                                                         \
	cs_err processor##_option(void *decoder, cs_opt_type type, size_t value)  \
	{                                                                         \
		return CS_ERR_ARCH;                                               \
	}

ABSENT(AArch64)
ABSENT(ARM)
ABSENT(BPF)
ABSENT(EVM)
ABSENT(M680X)
ABSENT(M68K)
ABSENT(MOS65XX)
ABSENT(Mips)
ABSENT(PPC)
ABSENT(RISCV)
ABSENT(SH)
ABSENT(Sparc)
ABSENT(SystemZ)
ABSENT(TMS320C64x)
ABSENT(TRICORE)
ABSENT(WASM)
ABSENT(XCore)

cs_err capstone_open_x86_64(csh *ret_handle)
{
	return cs_open(CS_ARCH_X86, CS_MODE_64, ret_handle);
}
