/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes that are a relative jump or call, if the opcode of an instruction stands there (prefixes come before it). xbegin is one too. */
#ifndef GPUPROBE_CODE_CODE_JUMPS_X86_64_H
#define GPUPROBE_CODE_CODE_JUMPS_X86_64_H

#include <string.h>

#include "base/types.h"

#define JUMP_BYTES	5
#define LONG_JUMP_BYTES 6
#define SHORT_JUMP_BYTES 2

static inline u32 code_read_u32(const u8 *bytes)
{
	u32 value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static inline u64 code_displaced(u64 address, const u8 *displacement)
{
	return address + (u64)(s64)(s32)code_read_u32(displacement);
}

/* With a distance of 32 bits. False: it is none, or not as a whole in the bytes that can be read. */
static inline bool code_jump_read(u64 address, const u8 *code, size_t readable, u64 *ret_target)
{
	if (readable >= JUMP_BYTES && (code[0] == 0xe8 || code[0] == 0xe9)) {
		*ret_target = code_displaced(address + JUMP_BYTES, code + 1);
		return true;
	}
	if (readable >= LONG_JUMP_BYTES && ((code[0] == 0x0f && (code[1] & 0xf0) == 0x80) || /* jcc */
					    (code[0] == 0xc7 && code[1] == 0xf8))) {	     /* xbegin */
		*ret_target = code_displaced(address + LONG_JUMP_BYTES, code + 2);
		return true;
	}
	return false;
}

/* With one of 8 bits: jmp, jcc, loop, jrcxz. */
static inline bool code_short_jump_read(u64 address, const u8 *code, size_t readable, u64 *ret_target)
{
	if (readable < SHORT_JUMP_BYTES ||
	    (code[0] != 0xeb && (code[0] & 0xf0) != 0x70 && (code[0] & 0xfc) != 0xe0))
		return false;
	*ret_target = address + SHORT_JUMP_BYTES + (u64)(s64)(int8_t)code[1];
	return true;
}

#endif
