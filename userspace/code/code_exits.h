/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a call of a function may return, followed from its entry through all jumps, also into other functions: whatever
 * `ret` runs while the stack pointer is what it was at the entry ends the call. Only instructions that control flow leads to
 * are looked at, so each is one. A jump by a slot of the PLT leads to the function that the file itself has of that name.
 * One to memset, memcpy or memmove, which give back what they are given first, ends the call too: its result is known then.
 */
#ifndef GPUPROBE_CODE_CODE_EXITS_H
#define GPUPROBE_CODE_CODE_EXITS_H

#include "code/function_code.h"
#include "elf/elf_file.h"

/* Sites by address, which the kernel can probe; the caller frees: RETURN_SITE_RET, and RETURN_SITE_JUMP, of which the first
 * argument is the result. Not all of them where jumps lead to what is only known at run time, or the way is too long:
 * *ret_complete says so. 0 or -ENOMEM. */
int code_exits_find(const struct elf_file *file, const struct elf_symbols *symbols, u64 address,
		    struct return_site **ret_sites, size_t *ret_count, bool *ret_complete);

#endif
