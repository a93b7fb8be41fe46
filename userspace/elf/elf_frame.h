/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the registers of a function to those of its caller, by the unwind tables (.eh_frame, or that of Go's runtime) of the file that
 * the function is in. For stopped threads whose memory somebody else reads. x86-64.
 */
#ifndef GPUPROBE_ELF_ELF_FRAME_H
#define GPUPROBE_ELF_ELF_FRAME_H

#include "base/types.h"
#include "elf/elf_file.h"

/* By their DWARF numbers; the last is the program counter. */
enum { ELF_REGISTER_RBX = 3, ELF_REGISTER_RBP = 6, ELF_REGISTER_RSP = 7, ELF_REGISTER_R12 = 12, ELF_REGISTER_PC = 16,
       ELF_REGISTERS = 17 };

struct elf_frame {
	u64 registers[ELF_REGISTERS];
	u32 known; /* a bit for each */
};

struct elf_unwind;

/* NULL: the file has no unwind tables. file stays the caller's and must stay open. */
struct elf_unwind *elf_unwind_open(const struct elf_file *file);
struct elf_unwind *elf_unwind_free(struct elf_unwind *unwind); /* NULL allowed; returns NULL */

/* One step outwards. bias: what addresses are more than in the file. innermost: the program counter is not behind
 * a call. read_word: 0 or -errno. 1: done; 0: this was the thread's first function; -ENOTSUP: a signal handler's
 * frame; -EXDEV: of Go, where who called it is on another stack, or nobody has; other -errno: the tables do not say how, or need a register that is not known. */
int elf_unwind_step(struct elf_unwind *unwind, u64 bias, bool innermost,
		    int (*read_word)(void *data, u64 address, u64 *ret_word), void *read_data,
		    struct elf_frame *frame);

#endif
