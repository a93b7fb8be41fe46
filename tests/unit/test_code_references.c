/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What refers to code is found at every offset, whatever stands around it. */
#include <stdlib.h>
#include <string.h>

#include "code/code_references.h"
#include "unit.h"

#define CODE	 0x10000ULL
#define END	 0x20000ULL
#define SIZE	 4096
#define DISTANCE 0x2040 /* none of its bytes begins anything */

struct reading {
	struct code_references *references;
	struct code_bases bases;
	u8 *bytes; /* of its own size, so that reading behind its end is seen */
	size_t size;
};

static struct reading read_code(const u8 *bytes, size_t size, size_t piece)
{
	struct reading reading = {.references = code_references_create(CODE, END),
				  .bytes = malloc(size),
				  .size = size};

	CHECK_U64(code_references_keep(reading.references, CODE, END - 1), 0);
	memcpy(reading.bytes, bytes, size);
	for (size_t done = 0; done < size; done += piece)
		CHECK_U64(code_references_add_code(reading.references, &reading.bases, CODE + done,
						   reading.bytes + done,
						   size - done < piece ? size - done : piece,
						   size - done),
			  0);
	return reading;
}

static void reading_free(struct reading *reading)
{
	code_references_free(reading->references);
	free(reading->bases.items);
	free(reading->bytes);
}

static bool refers(const struct reading *reading, enum code_reference kind, u64 address)
{
	return code_references_find(reading->references, kind, address, address + 1) == address;
}

/* Only address is referred to, and only in this way. */
static void check_only(const struct reading *reading, enum code_reference kind, u64 address)
{
	enum code_reference other = kind == REFERENCE_JUMP ? REFERENCE_POINTER : REFERENCE_JUMP;

	CHECK_U64(code_references_find(reading->references, kind, CODE, END), address);
	CHECK_U64(code_references_find(reading->references, kind, address + 1, END), END);
	CHECK_U64(code_references_find(reading->references, other, CODE, END), END);
}

struct form {
	u8 opcode[2];
	size_t opcode_bytes;
	enum code_reference kind;
};

static const struct form forms[] = {
	{{0xe8}, 1, REFERENCE_JUMP},	      /* call */
	{{0xe9}, 1, REFERENCE_JUMP},	      /* jmp */
	{{0x0f, 0x80}, 2, REFERENCE_JUMP},    /* jo */
	{{0x0f, 0x8f}, 2, REFERENCE_JUMP},    /* jg */
	{{0xc7, 0xf8}, 2, REFERENCE_JUMP},    /* xbegin */
	{{0x8d, 0x05}, 2, REFERENCE_POINTER}, /* lea to eax */
	{{0x8d, 0x3d}, 2, REFERENCE_POINTER}, /* lea to edi */
};

TEST(each_form_is_found_at_each_offset)
{
	for (size_t f = 0; f < ARRAY_SIZE(forms); f++) {
		for (size_t at = 0; at < 48; at++) {
			size_t length = forms[f].opcode_bytes + sizeof(u32);
			u8 bytes[64] = {0};
			u32 distance = DISTANCE;
			struct reading reading;

			memcpy(bytes + at, forms[f].opcode, forms[f].opcode_bytes);
			memcpy(bytes + at + forms[f].opcode_bytes, &distance, sizeof(distance));
			reading = read_code(bytes, sizeof(bytes), 24);
			check_only(&reading, forms[f].kind, CODE + at + length + DISTANCE);
			reading_free(&reading);
		}
	}
}

TEST(the_last_instruction_is_found_and_half_a_one_is_not)
{
	for (size_t f = 0; f < ARRAY_SIZE(forms); f++) {
		size_t length = forms[f].opcode_bytes + sizeof(u32);

		for (size_t in_front = 0; in_front < 40; in_front++) {
			u8 bytes[64] = {0};
			u32 distance = DISTANCE;
			u64 target = CODE + in_front + length + DISTANCE;
			struct reading reading;

			memcpy(bytes + in_front, forms[f].opcode, forms[f].opcode_bytes);
			memcpy(bytes + in_front + forms[f].opcode_bytes, &distance,
			       sizeof(distance));
			reading = read_code(bytes, in_front + length, SIZE);
			check_only(&reading, forms[f].kind, target);
			reading_free(&reading);
			reading = read_code(bytes, in_front + length - 1, SIZE);
			CHECK(!refers(&reading, forms[f].kind, target));
			reading_free(&reading);
		}
	}
}

static u32 next_random(u64 *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)(*state >> 33);
}

/* All forms with noise in between, read as a whole and in pieces. */
TEST(pieces_add_up)
{
	u8 bytes[SIZE] = {0};
	u64 state = 1;

	for (size_t i = 0; i + 16 < SIZE;) {
		const struct form *form = &forms[next_random(&state) % ARRAY_SIZE(forms)];
		u32 distance = next_random(&state) % 0x8000;

		for (u32 noise = next_random(&state) % 8; noise; noise--)
			bytes[i++] = (u8)next_random(&state);
		memcpy(bytes + i, form->opcode, form->opcode_bytes);
		memcpy(bytes + i + form->opcode_bytes, &distance, sizeof(distance));
		i += form->opcode_bytes + sizeof(distance);
	}
	for (size_t piece = 1; piece < 100; piece++) {
		struct reading whole = read_code(bytes, SIZE, SIZE);
		struct reading pieces = read_code(bytes, SIZE, piece);
		size_t found = 0;

		for (u64 address = CODE; address < END; address++) {
			found += refers(&whole, REFERENCE_JUMP, address);
			if (refers(&whole, REFERENCE_JUMP, address) !=
				    refers(&pieces, REFERENCE_JUMP, address) ||
			    refers(&whole, REFERENCE_POINTER, address) !=
				    refers(&pieces, REFERENCE_POINTER, address))
				CHECK_U64(address, 0);
		}
		CHECK(found > 200);
		reading_free(&whole);
		reading_free(&pieces);
	}
}

static size_t read_bytes(const void *data, u64 address, void *ret_bytes, size_t size)
{
	const struct reading *reading = data;
	u64 offset = address - CODE;

	if (offset >= reading->size)
		return 0;
	if (size > reading->size - offset)
		size = reading->size - offset;
	memcpy(ret_bytes, reading->bytes + offset, size);
	return size;
}

struct order {
	u64 last;
	size_t count;
	bool ascending;
};

static size_t note_order(const void *data, u64 address, void *ret_bytes, size_t size)
{
	struct order *order = *(struct order *const *)data;

	order->ascending = address > order->last && (order->ascending || !order->count);
	order->last = address;
	order->count++;
	return 0;
}

/* As where a linker puts what is only read into the segment of the code. */
TEST(a_jump_table_among_the_code_is_followed)
{
	enum { TABLE = 64 };
	/* Distances from the table; the last leads nowhere. */
	const u32 distances[] = {0x100, 0x200, (u32)-16, 0x7fffffff};
	u8 bytes[128] = {0x8d, 0x05, TABLE - 6};
	struct reading reading;

	memcpy(bytes + TABLE, distances, sizeof(distances));
	reading = read_code(bytes, sizeof(bytes), sizeof(bytes));
	code_references_add_tables(reading.references, &reading.bases, read_bytes, &reading);
	CHECK(refers(&reading, REFERENCE_POINTER, CODE + TABLE));
	CHECK(refers(&reading, REFERENCE_POINTER, CODE + TABLE + 0x100));
	CHECK(refers(&reading, REFERENCE_POINTER, CODE + TABLE + 0x200));
	CHECK(refers(&reading, REFERENCE_POINTER, CODE + TABLE - 16));
	reading_free(&reading);
}

/* Of code that is not kept nothing is known: in doubt it is referred to. */
TEST(what_is_not_kept_may_be_referred_to)
{
	struct code_references *references = code_references_create(CODE, END);

	CHECK_U64(code_references_keep(references, CODE + 4000, CODE + 4100), 0);
	CHECK(code_references_keeps(references, CODE, CODE + 8191));
	CHECK(!code_references_keeps(references, CODE, CODE + 8192));
	CHECK(!code_references_keeps(references, CODE - 1, CODE));
	code_references_add(references, REFERENCE_JUMP, CODE + 5000);
	code_references_add(references, REFERENCE_JUMP, CODE + 9000);
	CHECK_U64(code_references_find(references, REFERENCE_JUMP, CODE, CODE + 8192), CODE + 5000);
	CHECK_U64(code_references_find(references, REFERENCE_JUMP, CODE + 5001, CODE + 8192),
		  CODE + 8192);
	CHECK_U64(code_references_find(references, REFERENCE_JUMP, CODE + 5001, END), CODE + 8192);
	CHECK_U64(code_references_find(references, REFERENCE_POINTER, CODE, CODE + 8192),
		  CODE + 8192);
	CHECK_U64(code_references_find(references, REFERENCE_POINTER, CODE + 8192, END),
		  CODE + 8192);
	code_references_free(references);
}

/* As many as large libraries have, near each other or far apart. */
TEST(bases_are_followed_in_ascending_order)
{
	static const u64 ranges[] = {1000, 1ULL << 30, 1ULL << 40};

	for (size_t r = 0; r < ARRAY_SIZE(ranges); r++) {
		struct code_references *references = code_references_create(CODE, END);
		struct code_bases bases = {.count = 5000, .capacity = 5000};
		struct order order = {0};
		u64 state = r;

		bases.items = calloc(bases.count, sizeof(u64));
		for (size_t i = 0; i < bases.count; i++)
			bases.items[i] =
				END +
				((u64)next_random(&state) << 31 | next_random(&state)) % ranges[r];
		code_references_add_tables(references, &bases, note_order,
					   &(struct order *){&order});
		CHECK(order.ascending && order.count > 900 && order.count <= 5000);
		CHECK(!bases.items && !bases.count);
		code_references_free(references);
	}
}

UNIT_MAIN()
