/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_go_function.h"

/* ---- rules ---- */

/* Go's code keeps rbx for nobody. */
int elf_go_put(const struct elf_go_function *function, u64 address, u8 cfa, s32 offset, u8 rbp)
{
	bool has_rbx = rbp != UNWIND_SAME && function->rbx_from && address >= function->rbx_from;
	const struct unwind_rule rule = {
		.cfa = cfa,
		.rbp = rbp,
		.rbx = has_rbx						   ? UNWIND_AT_CFA
		       : cfa >= UNWIND_CFA_RSP && cfa != UNWIND_CFA_SIGNAL ? UNWIND_LOST
									   : UNWIND_SAME,
		.cfa_offset = offset,
		.rbp_offset = rbp == UNWIND_AT_CFA ? -2 * ELF_GO_RETURN_BYTES : 0,
		.rbx_offset = has_rbx ? function->rbx_offset : 0};

	return function->visit(function->data, address, &rule);
}

int elf_go_put_depth(const struct elf_go_function *function, u64 address, s32 depth_bytes, u8 rbp)
{
	return elf_go_put(function, address, UNWIND_CFA_RSP, depth_bytes + ELF_GO_RETURN_BYTES,
			  rbp);
}

int elf_go_put_elsewhere(const struct elf_go_function *function, u64 address)
{
	return elf_go_put(function, address, UNWIND_CFA_RBP_ELSEWHERE, 2 * ELF_GO_RETURN_BYTES,
			  UNWIND_AT_CFA);
}

/* ---- instructions ---- */

bool elf_go_is_at(const u8 *code, size_t size, const struct elf_go_pattern *pattern)
{
	if (size < pattern->count)
		return false;
	for (size_t i = 0; i < pattern->count; i++)
		if (pattern->bytes[i] != ELF_GO_ANY_BYTE && pattern->bytes[i] != code[i])
			return false;
	return true;
}

size_t elf_go_find(const struct elf_go_function *function, size_t from,
		   const struct elf_go_pattern *pattern)
{
	for (; from < function->code_bytes; from++)
		if (elf_go_is_at(function->code + from, function->code_bytes - from, pattern))
			return from;
	return function->code_bytes;
}

size_t elf_go_find_stack_change(const struct elf_go_function *function, size_t from,
				size_t *ret_bytes)
{
	for (; from + 3 <= function->code_bytes; from++) {
		const u8 *code = function->code + from;

		*ret_bytes = 3;
		if ((code[0] & 0xfb) == 0x48 && code[1] == 0x89 && (code[2] & 0xc7) == 0xc4)
			return from;
		*ret_bytes = (code[2] & 7) == 4 ? 5 : 4;
		if ((code[0] & 0xfe) == 0x48 && code[1] == 0x8b && (code[2] & 0xf8) == 0x60 &&
		    from + *ret_bytes <= function->code_bytes)
			return from;
	}
	return function->code_bytes;
}

bool elf_go_pushes_frame_pointer(const struct elf_go_function *function)
{
	static const struct elf_go_pattern pushes = ELF_GO_PATTERN(0x55, 0x48, 0x89, 0xe5);

	return elf_go_is_at(function->code, function->code_bytes, &pushes);
}
