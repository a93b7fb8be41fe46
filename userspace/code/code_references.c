/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code/code_references.h"

#include <emmintrin.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define KINDS		  2
#define JUMP_BYTES	  5 /* opcode and distance */
#define LONG_JUMP_BYTES	  6 /* two bytes of opcode */
#define FILTER_BYTES	  16
#define TABLE_MAX_ENTRIES 65536
#define TABLE_READ_BYTES  4096

struct code_references {
	u64 start, end;
	u64 *bits[KINDS];
	/* What code takes the address of: strings, variables, functions, jump tables; some linkers put what is only
	 * read, tables too, among the code. */
	u64 *bases;
	size_t base_count, base_capacity;
};

struct code_references *code_references_create(u64 start, u64 end)
{
	struct code_references *references = calloc(1, sizeof(*references));

	if (!references || end < start)
		return code_references_free(references);
	references->start = start;
	references->end = end;
	for (size_t kind = 0; kind < KINDS; kind++) {
		references->bits[kind] = calloc((end - start) / 64 + 1, sizeof(u64));
		if (!references->bits[kind])
			return code_references_free(references);
	}
	return references;
}

struct code_references *code_references_free(struct code_references *references)
{
	if (!references)
		return NULL;
	for (size_t kind = 0; kind < KINDS; kind++)
		free(references->bits[kind]);
	free(references->bases);
	free(references);
	return NULL;
}

static bool is_code(const struct code_references *references, u64 address)
{
	return address - references->start < references->end - references->start;
}

void code_references_add(struct code_references *references, enum code_reference kind, u64 address)
{
	u64 bit = address - references->start;

	if (is_code(references, address))
		references->bits[kind][bit / 64] |= 1ULL << (bit % 64);
}

static u32 read_u32(const u8 *bytes)
{
	u32 value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static u64 displaced(u64 address, const u8 *displacement)
{
	return address + (u64)(s64)(int32_t)read_u32(displacement);
}

static int base_add(struct code_references *references, u64 address)
{
	if (array_reserve(&references->bases, &references->base_capacity,
			  references->base_count + 1))
		return -ENOMEM;
	references->bases[references->base_count++] = address;
	return 0;
}

static bool is_jump(const u8 *code)
{
	return code[0] == 0xe8 || code[0] == 0xe9;
}

static bool is_long_jump(const u8 *code)
{
	return (code[0] == 0x0f && (code[1] & 0xf0) == 0x80) || /* jcc */
	       (code[0] == 0xc7 && code[1] == 0xf8);		/* xbegin */
}

static bool is_lea_rip(const u8 *code)
{
	return code[0] == 0x8d && (code[1] & 0xc7) == 0x05;
}

static __m128i bytes_equal(__m128i bytes, u8 mask, u8 value)
{
	return _mm_cmpeq_epi8(_mm_and_si128(bytes, _mm_set1_epi8((char)mask)),
			      _mm_set1_epi8((char)value));
}

/* A bit for each of the first FILTER_BYTES where one of the three above begins; reads a byte more. */
static u32 filter(const u8 *code)
{
	__m128i first = _mm_loadu_si128((const __m128i *)code);
	__m128i second = _mm_loadu_si128((const __m128i *)(code + 1));
	__m128i jump = bytes_equal(first, 0xfe, 0xe8);
	__m128i jcc =
		_mm_and_si128(bytes_equal(first, 0xff, 0x0f), bytes_equal(second, 0xf0, 0x80));
	__m128i xbegin =
		_mm_and_si128(bytes_equal(first, 0xff, 0xc7), bytes_equal(second, 0xff, 0xf8));
	__m128i lea =
		_mm_and_si128(bytes_equal(first, 0xff, 0x8d), bytes_equal(second, 0xc7, 0x05));

	return (u32)_mm_movemask_epi8(
		_mm_or_si128(_mm_or_si128(jump, jcc), _mm_or_si128(xbegin, lea)));
}

/* What stands at *code, as far as it is there. */
static int reference_read(struct code_references *references, u64 address, const u8 *code,
			  size_t readable)
{
	u64 target;

	if (readable >= JUMP_BYTES && is_jump(code)) {
		target = displaced(address + JUMP_BYTES, code + 1);
		code_references_add(references, REFERENCE_JUMP, target);
	} else if (readable >= LONG_JUMP_BYTES && is_long_jump(code)) {
		target = displaced(address + LONG_JUMP_BYTES, code + 2);
		code_references_add(references, REFERENCE_JUMP, target);
	} else if (readable >= LONG_JUMP_BYTES && is_lea_rip(code)) {
		target = displaced(address + LONG_JUMP_BYTES, code + 2);
		code_references_add(references, REFERENCE_POINTER, target);
		return base_add(references, target);
	}
	return 0;
}

int code_references_add_code(struct code_references *references, u64 address, const u8 *bytes,
			     size_t size, size_t readable)
{
	size_t i = 0;
	int result = 0;

	for (; i + FILTER_BYTES <= size && i + FILTER_BYTES < readable; i += FILTER_BYTES) {
		for (u32 found = filter(bytes + i); found && !result; found &= found - 1) {
			size_t at = i + (size_t)__builtin_ctz(found);

			result =
				reference_read(references, address + at, bytes + at, readable - at);
		}
	}
	for (; i < size && !result; i++)
		result = reference_read(references, address + i, bytes + i, readable - i);
	return result;
}

void code_references_add_absolute(struct code_references *references, const u8 *bytes, size_t size)
{
	for (size_t i = 0; i + sizeof(u32) <= size; i++)
		code_references_add(references, REFERENCE_POINTER, read_u32(bytes + i));
}

static void table_follow(struct code_references *references, u64 base, code_read_function read,
			 const void *data)
{
	u8 bytes[TABLE_READ_BYTES];
	size_t want = 64, size; /* most bases are no tables */

	for (u64 offset = 0; offset < TABLE_MAX_ENTRIES * sizeof(u32); offset += size) {
		size = read(data, base + offset, bytes, want) & ~3UL;
		if (!size)
			return;
		for (size_t i = 0; i < size; i += sizeof(u32)) {
			u64 target = displaced(base, bytes + i);

			if (!is_code(references, target))
				return;
			code_references_add(references, REFERENCE_POINTER, target);
		}
		want = sizeof(bytes);
	}
}

static int address_compare(const void *left, const void *right)
{
	u64 a = *(const u64 *)left, b = *(const u64 *)right;

	return a < b ? -1 : a > b;
}

void code_references_add_tables(struct code_references *references, code_read_function read,
				const void *data)
{
	if (!references->base_count)
		return;
	qsort(references->bases, references->base_count, sizeof(u64), address_compare);
	for (size_t i = 0; i < references->base_count; i++) {
		if (!i || references->bases[i] != references->bases[i - 1])
			table_follow(references, references->bases[i], read, data);
	}
	free(references->bases);
	references->bases = NULL;
	references->base_count = references->base_capacity = 0;
}

u64 code_references_find(const struct code_references *references, enum code_reference kind,
			 u64 start, u64 end)
{
	const u64 *bits = references->bits[kind];

	for (u64 address = start; address < end;) {
		u64 bit = address - references->start, rest;

		if (!is_code(references, address)) {
			address++;
			continue;
		}
		rest = bits[bit / 64] >> (bit % 64);
		if (!rest) {
			address += 64 - bit % 64;
			continue;
		}
		address += (u64)__builtin_ctzll(rest);
		return address < end ? address : end;
	}
	return end;
}
