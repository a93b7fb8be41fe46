/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A function of a Go program whose unwind rules are made: its instructions, and to whom the rules are told. For elf_go_rows.c. */
#ifndef GPUPROBE_ELF_ELF_GO_FUNCTION_H
#define GPUPROBE_ELF_ELF_GO_FUNCTION_H

#include "elf/elf_go_rows.h"

/* The code of a function whose instructions are looked at. */
#define ELF_GO_CODE_MAX_BYTES 1024
#define ELF_GO_RETURN_BYTES   8

typedef int elf_go_visit(void *data, u64 address, const struct unwind_rule *rule);

struct elf_go_function {
	const struct elf_go_rows *rows;
	u64 index, start, end;
	u8 code[ELF_GO_CODE_MAX_BYTES + 4]; /* behind it zeros */
	size_t code_bytes;
	elf_go_visit *visit;
	void *data;
	u64 rbx_from;	/* where it has saved rbx: 0: nowhere */
	s16 rbx_offset; /* from the CFA */
};

/* ---- rules: each from an address on; the first result of visit that is not 0 ---- */

/* rbp: enum unwind_register; what is saved lies right below the return address. */
int elf_go_put(const struct elf_go_function *function, u64 address, u8 cfa, s32 offset, u8 rbp);
/* So much was pushed above the return address. */
int elf_go_put_depth(const struct elf_go_function *function, u64 address, s32 depth_bytes, u8 rbp);
/* The function is on another stack than its caller: by its frame pointer. */
int elf_go_put_elsewhere(const struct elf_go_function *function, u64 address);

/* ---- instructions ---- */

#define ELF_GO_ANY_BYTE (-1)
struct elf_go_pattern {
	s16 bytes[20];
	size_t count;
};
#define ELF_GO_PATTERN(...)                                               \
	{                                                                 \
		{__VA_ARGS__}, sizeof((s16[]){__VA_ARGS__}) / sizeof(s16) \
	}

bool elf_go_is_at(const u8 *code, size_t size, const struct elf_go_pattern *pattern);
/* Where it stands in the function, from a place on; else how much code there is. */
size_t elf_go_find(const struct elf_go_function *function, size_t from,
		   const struct elf_go_pattern *pattern);
/* mov rsp, register, or from memory at register + number; else how much code there is. */
size_t elf_go_find_stack_change(const struct elf_go_function *function, size_t from,
				size_t *ret_bytes);
/* From Go 1.21 on its assembler gives functions a frame that had none: push rbp; mov rbp, rsp. */
bool elf_go_pushes_frame_pointer(const struct elf_go_function *function);

#endif
