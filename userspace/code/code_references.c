/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code/code_references.h"

#include <emmintrin.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "code/code_jumps_x86_64.h"

#define FILTER_BYTES	  16
#define TABLE_MAX_ENTRIES 65536
#define TABLE_READ_BYTES  4096

#define DIGIT_BITS 11
#define DIGITS	   3 /* of 33 bits */

struct code_references {
	u64 start, end;
	u32 *places; /* of each page: 1 + where it is among the kept ones; 0: it is not kept */
	struct code_page *pages;
	size_t page_count, page_capacity;
};

struct code_references *code_references_create(u64 start, u64 end)
{
	struct code_references *references = calloc(1, sizeof(*references));

	if (!references || end < start)
		return code_references_free(references);
	references->start = start - start % CODE_PAGE_BYTES;
	references->end = end;
	references->places = calloc((end - references->start) / CODE_PAGE_BYTES + 1, sizeof(u32));
	return references->places ? references : code_references_free(references);
}

struct code_references *code_references_free(struct code_references *references)
{
	if (!references)
		return NULL;
	free(references->places);
	free(references->pages);
	free(references);
	return NULL;
}

static bool is_code(const struct code_references *references, u64 address)
{
	return address - references->start < references->end - references->start;
}

int code_references_keep(struct code_references *references, u64 first, u64 last)
{
	if (first < references->start)
		first = references->start;
	for (u64 page = first - first % CODE_PAGE_BYTES; page <= last && page < references->end;
	     page += CODE_PAGE_BYTES) {
		u32 *place = &references->places[(page - references->start) / CODE_PAGE_BYTES];

		if (*place)
			continue;
		if (array_reserve(&references->pages, &references->page_capacity,
				  references->page_count + 1))
			return -ENOMEM;
		references->pages[references->page_count] = (struct code_page){.address = page};
		*place = (u32)++references->page_count;
	}
	return 0;
}

/* NULL: it is not kept. */
static struct code_page *page_of(const struct code_references *references, u64 address)
{
	u32 place = references->places[(address - references->start) / CODE_PAGE_BYTES];

	return place ? &references->pages[place - 1] : NULL;
}

bool code_references_keeps(const struct code_references *references, u64 first, u64 last)
{
	for (u64 page = first - first % CODE_PAGE_BYTES; page <= last; page += CODE_PAGE_BYTES)
		if (!is_code(references, page) || !page_of(references, page))
			return false;
	return true;
}

void code_references_add(struct code_references *references, enum code_reference kind, u64 address)
{
	struct code_page *page = is_code(references, address) ? page_of(references, address) : NULL;
	u64 bit = address % CODE_PAGE_BYTES;

	if (page)
		__atomic_fetch_or(&page->bits[kind][bit / 64], 1ULL << (bit % 64),
				  __ATOMIC_RELAXED);
}

static int base_add(struct code_bases *bases, u64 address)
{
	if (array_reserve(&bases->items, &bases->capacity, bases->count + 1))
		return -ENOMEM;
	bases->items[bases->count++] = address;
	return 0;
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
static int reference_read(struct code_references *references, struct code_bases *bases, u64 address,
			  const u8 *code, size_t readable)
{
	u64 target;

	if (code_jump_read(address, code, readable, &target)) {
		code_references_add(references, REFERENCE_JUMP, target);
	} else if (readable >= LONG_JUMP_BYTES && is_lea_rip(code)) {
		target = code_displaced(address + LONG_JUMP_BYTES, code + 2);
		code_references_add(references, REFERENCE_POINTER, target);
		return base_add(bases, target);
	}
	return 0;
}

int code_references_add_code(struct code_references *references, struct code_bases *bases,
			     u64 address, const u8 *bytes, size_t size, size_t readable)
{
	size_t i = 0;
	int result = 0;

	for (; i + FILTER_BYTES <= size && i + FILTER_BYTES < readable; i += FILTER_BYTES) {
		for (u32 found = filter(bytes + i); found && !result; found &= found - 1) {
			size_t at = i + (size_t)__builtin_ctz(found);

			result = reference_read(references, bases, address + at, bytes + at,
						readable - at);
		}
	}
	for (; i < size && !result; i++)
		result = reference_read(references, bases, address + i, bytes + i, readable - i);
	return result;
}

void code_references_add_absolute(struct code_references *references, const u8 *bytes, size_t size)
{
	for (size_t i = 0; i + sizeof(u32) <= size; i++)
		code_references_add(references, REFERENCE_POINTER, code_read_u32(bytes + i));
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
			u64 target = code_displaced(base, bytes + i);

			if (!is_code(references, target))
				return;
			code_references_add(references, REFERENCE_POINTER, target);
		}
		want = sizeof(bytes);
	}
}

/* One pass: by some bits of how far they are above the lowest. */
static void sort_by_digit(const u64 *from, u64 *to, size_t count, u64 lowest, unsigned shift)
{
	size_t starts[1 << DIGIT_BITS] = {0}, start = 0;
	const u64 mask = (1 << DIGIT_BITS) - 1;

	for (size_t i = 0; i < count; i++)
		starts[(from[i] - lowest) >> shift & mask]++;
	for (size_t digit = 0; digit <= mask; digit++) {
		size_t next = start + starts[digit];

		starts[digit] = start;
		start = next;
	}
	for (size_t i = 0; i < count; i++)
		to[starts[(from[i] - lowest) >> shift & mask]++] = from[i];
}

/* There are hundreds of thousands, mostly within 2 GB around the code; what looks like one may be below 0. */
static void bases_sort(struct code_bases *bases)
{
	u64 *other = calloc(bases->count, sizeof(*other));
	s64 lowest = INT64_MAX, highest = INT64_MIN;

	for (size_t i = 0; i < bases->count; i++) {
		s64 base = (s64)bases->items[i];

		lowest = base < lowest ? base : lowest;
		highest = base > highest ? base : highest;
	}
	if (!other || ((u64)highest - (u64)lowest) >> (DIGITS * DIGIT_BITS)) {
		qsort(bases->items, bases->count, sizeof(u64), array_compare_u64);
		free(other);
		return;
	}
	for (unsigned digit = 0; digit < DIGITS; digit++) {
		u64 *sorted = other;

		sort_by_digit(bases->items, sorted, bases->count, (u64)lowest, digit * DIGIT_BITS);
		other = bases->items;
		bases->items = sorted;
	}
	bases->capacity = bases->count;
	free(other);
}

void code_bases_sort(struct code_bases *bases)
{
	size_t kept = 0;

	if (!bases->count)
		return;
	bases_sort(bases);
	for (size_t i = 0; i < bases->count; i++)
		if (!kept || bases->items[i] != bases->items[kept - 1])
			bases->items[kept++] = bases->items[i];
	bases->count = kept;
}

void code_references_add_tables(struct code_references *references, struct code_bases *bases,
				code_read_function read, const void *data)
{
	code_bases_sort(bases);
	for (size_t i = 0; i < bases->count; i++)
		table_follow(references, bases->items[i], read, data);
	free(bases->items);
	*bases = (struct code_bases){0};
}

u64 code_references_find(const struct code_references *references, enum code_reference kind,
			 u64 start, u64 end)
{
	for (u64 address = start; address < end;) {
		u64 bit = address % CODE_PAGE_BYTES, rest;
		const struct code_page *page;

		if (!is_code(references, address)) {
			address++;
			continue;
		}
		page = page_of(references, address);
		if (!page)
			return address;
		rest = page->bits[kind][bit / 64] >> (bit % 64);
		if (!rest) {
			address += 64 - bit % 64;
			continue;
		}
		address += (u64)__builtin_ctzll(rest);
		return address < end ? address : end;
	}
	return end;
}

size_t code_references_pages(const struct code_references *references,
			     const struct code_page **ret_pages)
{
	*ret_pages = references->pages;
	return references->page_count;
}

int code_references_add_page(struct code_references *references, const struct code_page *page)
{
	int result = code_references_keep(references, page->address, page->address);
	struct code_page *kept;

	if (result || !is_code(references, page->address))
		return result;
	kept = page_of(references, page->address);
	for (size_t kind = 0; kind < ARRAY_SIZE(kept->bits); kind++)
		for (size_t word = 0; word < ARRAY_SIZE(kept->bits[kind]); word++)
			kept->bits[kind][word] |= page->bits[kind][word];
	return 0;
}
