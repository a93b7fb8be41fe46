/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers of a piece of call frame information, one behind the other. Who reads past the end gets 0, and `failed` is set.
 * For elf_cfi*.c and elf_unwind_rows.c.
 */
#ifndef GPUPROBE_ELF_ELF_CFI_BYTES_H
#define GPUPROBE_ELF_ELF_CFI_BYTES_H

#include <string.h>

#include "elf/elf_cfi.h"

struct cfi_bytes {
	const u8 *at, *end;
	bool failed;
};

static inline struct cfi_bytes cfi_bytes(const struct elf_cfi *cfi, struct elf_cfi_block block)
{
	const u8 *start = cfi->bytes + block.offset;

	return (struct cfi_bytes){start, start + block.size_bytes, false};
}

static inline bool cfi_bytes_left(const struct cfi_bytes *bytes)
{
	return bytes->at < bytes->end && !bytes->failed;
}

/* Little endian, of 1 to 8 bytes. */
static inline u64 cfi_bytes_number(struct cfi_bytes *bytes, u32 size_bytes)
{
	u64 value = 0;

	if ((size_t)(bytes->end - bytes->at) < size_bytes) {
		bytes->failed = true;
		return 0;
	}
	memcpy(&value, bytes->at, size_bytes);
	bytes->at += size_bytes;
	return value;
}

static inline u64 cfi_bytes_u8(struct cfi_bytes *bytes)
{
	return cfi_bytes_number(bytes, 1);
}

/* LEB128; bits beyond the 64th are dropped. */
static inline u64 cfi_bytes_leb(struct cfi_bytes *bytes, bool is_signed)
{
	u64 value = 0;
	u32 shift = 0;
	u8 byte;

	do {
		if (bytes->at == bytes->end) {
			bytes->failed = true;
			return 0;
		}
		byte = *bytes->at++;
		if (shift < 64)
			value |= (u64)(byte & 0x7f) << shift;
		shift += shift < 64 ? 7 : 0;
	} while (byte & 0x80);
	if (is_signed && shift < 64 && (byte & 0x40))
		value |= ~0ULL << shift;
	return value;
}

static inline u64 cfi_bytes_uleb(struct cfi_bytes *bytes)
{
	return cfi_bytes_leb(bytes, false);
}

static inline s64 cfi_bytes_sleb(struct cfi_bytes *bytes)
{
	return (s64)cfi_bytes_leb(bytes, true);
}

/* What follows, as many bytes as a number before them says. */
static inline struct elf_cfi_block cfi_bytes_block(const struct elf_cfi *cfi, struct cfi_bytes *bytes)
{
	u64 size_bytes = cfi_bytes_uleb(bytes);
	struct elf_cfi_block block = {0};

	if (bytes->failed || size_bytes > (size_t)(bytes->end - bytes->at)) {
		bytes->failed = true;
		return block;
	}
	block = (struct elf_cfi_block){(u32)(bytes->at - cfi->bytes), (u32)size_bytes};
	bytes->at += size_bytes;
	return block;
}

/* A pointer in the way of DW_EH_PE_* (its low 7 bits). */
u64 cfi_bytes_pointer(const struct elf_cfi *cfi, struct cfi_bytes *bytes, u8 encoding);

#endif
