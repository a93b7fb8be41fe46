#include "attach/code_references.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define KINDS		  2
#define JUMP_BYTES	  5 /* opcode and distance */
#define TABLE_MAX_ENTRIES 65536
#define TABLE_READ_BYTES  4096

struct code_references {
	u64 start, end;
	u64 *bits[KINDS];
	/* What code takes the address of outside the code: strings, variables, jump tables. */
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

static bool is_long_jump(const u8 *code)
{
	return (code[0] == 0x0f && (code[1] & 0xf0) == 0x80) || /* jcc */
	       (code[0] == 0xc7 && code[1] == 0xf8);		/* xbegin */
}

static bool is_lea_rip(const u8 *code)
{
	return code[0] == 0x8d && (code[1] & 0xc7) == 0x05;
}

int code_references_add_code(struct code_references *references, u64 address, const u8 *bytes,
			     size_t size, size_t readable)
{
	for (size_t i = 0; i < size && readable - i >= JUMP_BYTES; i++) {
		const u8 *code = bytes + i;
		u64 target;

		if (code[0] == 0xe8 || code[0] == 0xe9) {
			target = displaced(address + i + JUMP_BYTES, code + 1);
			code_references_add(references, REFERENCE_JUMP, target);
		} else if (readable - i <= JUMP_BYTES) {
			break;
		} else if (is_long_jump(code)) {
			target = displaced(address + i + 6, code + 2);
			code_references_add(references, REFERENCE_JUMP, target);
		} else if (is_lea_rip(code)) {
			target = displaced(address + i + 6, code + 2);
			code_references_add(references, REFERENCE_POINTER, target);
			if (!is_code(references, target) && base_add(references, target))
				return -ENOMEM;
		}
	}
	return 0;
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
