/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code/code_sources.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "code/code_jumps_x86_64.h"
#include "code/code_scan.h"

#define PIECE_MAX_BYTES (1 << 20)
#define SOURCES_MAX	(4 << 20)
#define FILTER_BITS	16

void code_sources_free(struct code_sources *sources)
{
	free(sources->asked);
	free(sources->items);
	*sources = (struct code_sources){0};
}

int code_sources_ask(struct code_sources *sources, u64 target)
{
	if (array_reserve(&sources->asked, &sources->asked_capacity, sources->asked_count + 1))
		return -ENOMEM;
	sources->asked[sources->asked_count++] = target;
	return 0;
}

static int source_compare(const void *left, const void *right)
{
	const struct code_source *a = left, *b = right;

	if (a->target != b->target)
		return a->target < b->target ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

static void asked_sort(struct code_sources *sources)
{
	size_t count = 0;

	if (sources->asked_count)
		qsort(sources->asked, sources->asked_count, sizeof(*sources->asked),
		      array_compare_u64);
	for (size_t i = 0; i < sources->asked_count; i++)
		if (!count || sources->asked[count - 1] != sources->asked[i])
			sources->asked[count++] = sources->asked[i];
	sources->asked_count = count;
}

/* NULL: it was not. */
static const u64 *asked_find(const struct code_sources *sources, u64 target)
{
	return sources->asked_count ? bsearch(&target, sources->asked, sources->asked_count,
					      sizeof(*sources->asked), array_compare_u64)
				    : NULL;
}

/* ---- what looks like a jump ---- */

/* So that most bytes need not be looked for among the addresses that were asked. */
struct filter {
	struct code_sources *sources;
	u64 bits[1 << (FILTER_BITS - 6)];
};

static u64 filter_bit(u64 target)
{
	return (target * 0x9e3779b97f4a7c15ULL) >> (64 - FILTER_BITS);
}

static int candidate_add(struct filter *filter, u64 target, u64 address)
{
	struct code_sources *sources = filter->sources;
	u64 bit = filter_bit(target);

	if (!(filter->bits[bit / 64] >> (bit % 64) & 1) || !asked_find(sources, target))
		return 0;
	if (sources->count == SOURCES_MAX)
		return -E2BIG;
	if (array_reserve(&sources->items, &sources->capacity, sources->count + 1))
		return -ENOMEM;
	sources->items[sources->count++] = (struct code_source){target, address, SOURCE_UNKNOWN};
	return 0;
}

static int part_visit(void *data, u64 address, const u8 *bytes, size_t size, size_t readable)
{
	int result = 0;
	u64 target;

	for (size_t i = 0; i < size && !result; i++) {
		if (code_jump_read(address + i, bytes + i, readable - i, &target) ||
		    code_short_jump_read(address + i, bytes + i, readable - i, &target))
			result = candidate_add(data, target, address + i);
	}
	return result;
}

static int candidates_find(struct code_sources *sources, const struct elf_file *file,
			   const struct elf_symbols *symbols)
{
	_cleanup_free_ struct filter *filter = calloc(1, sizeof(*filter));

	if (!filter)
		return -ENOMEM;
	filter->sources = sources;
	for (size_t i = 0; i < sources->asked_count; i++) {
		u64 bit = filter_bit(sources->asked[i]);

		filter->bits[bit / 64] |= 1ULL << (bit % 64);
	}
	return code_scan_parts(file, symbols, part_visit, filter);
}

/* ---- what is one ---- */

static int place_compare(const void *left, const void *right)
{
	const struct code_source *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

/* Does the instruction lead there? Its opcode is where the source was found, behind prefixes if it has any. */
static enum code_source_kind kind_of(const struct instruction *instruction, u64 target)
{
	if (!instruction->has_target || instruction->target != target)
		return SOURCE_NONE;
	return instruction->flow == FLOW_CALL ? SOURCE_CALL : SOURCE_JUMP;
}

/* Goes through a piece of code, with all that looked like a jump in it, by address, and says what each is. False: it is no known
 * instructions to its end, and who reads wrong there may have done so before. */
static bool piece_check(struct code_source *sources, size_t count, const struct elf_piece *piece,
			const u8 *bytes, struct decoder *decoder)
{
	size_t size = piece->end - piece->start, next = 0;
	struct instruction instruction;

	for (size_t offset = 0; offset < size; offset += instruction.size_bytes) {
		if (!decoder_read(decoder, bytes + offset, size - offset, piece->start + offset,
				  &instruction))
			return false;
		for (; next < count &&
		       sources[next].address - piece->start < offset + instruction.size_bytes;
		     next++)
			sources[next].kind = kind_of(&instruction, sources[next].target);
	}
	return true;
}

static void piece_read(struct code_source *sources, size_t count, const struct elf_file *file,
		       const struct elf_piece *piece, struct decoder *decoder)
{
	_cleanup_free_ u8 *bytes =
		piece->end - piece->start > PIECE_MAX_BYTES ? NULL : elf_piece_bytes(file, piece);

	if (bytes && piece_check(sources, count, piece, bytes, decoder))
		return;
	for (size_t i = 0; i < count; i++)
		sources[i].kind = SOURCE_UNKNOWN;
}

/* The place of an answer's target among those that were asked. */
static size_t asked_place(const struct code_sources *sources, const struct code_source *source)
{
	return (size_t)(asked_find(sources, source->target) - sources->asked);
}

/* Leaves out those whose targets are known to be called: no more is asked of these. False: that is all of them. */
static bool is_open(const struct code_sources *sources, struct code_source *items, size_t count,
		    const bool *called)
{
	for (size_t i = 0; i < count; i++)
		if (!called[asked_place(sources, &items[i])])
			return true;
	for (size_t i = 0; i < count; i++)
		items[i].kind = SOURCE_NONE;
	return false;
}

/* What is no jump goes. 0 or -ENOMEM. */
static int sources_check(struct code_sources *sources, const struct elf_file *file,
			 const struct elf_pieces *pieces, struct decoder *decoder)
{
	_cleanup_free_ bool *called = calloc(sources->asked_count, sizeof(*called));
	struct code_source *items = sources->items;
	size_t count = 0;

	if (!called)
		return -ENOMEM;
	for (size_t first = 0, end; first < sources->count; first = end) {
		const struct elf_piece *piece = elf_pieces_find(pieces, items[first].address);

		end = first + 1;
		if (!piece)
			continue;
		while (end < sources->count && items[end].address < piece->end)
			end++;
		if (!is_open(sources, items + first, end - first, called))
			continue;
		piece_read(items + first, end - first, file, piece, decoder);
		for (size_t i = first; i < end; i++)
			called[asked_place(sources, &items[i])] |= items[i].kind == SOURCE_CALL;
	}
	for (size_t i = 0; i < sources->count; i++)
		if (items[i].kind != SOURCE_NONE)
			items[count++] = items[i];
	sources->count = count;
	return 0;
}

int code_sources_find(struct code_sources *sources, const struct elf_file *file,
		      const struct elf_symbols *symbols, const struct elf_pieces *pieces,
		      struct decoder *decoder)
{
	int result;

	asked_sort(sources);
	sources->count = 0;
	if (!sources->asked_count)
		return 0;
	result = candidates_find(sources, file, symbols);
	if (result || !sources->count)
		return result;
	qsort(sources->items, sources->count, sizeof(*sources->items), place_compare);
	result = sources_check(sources, file, pieces, decoder);
	if (!result && sources->count)
		qsort(sources->items, sources->count, sizeof(*sources->items), source_compare);
	return result;
}

/* How many lead to lower addresses. */
static size_t place_of(const struct code_sources *sources, u64 target)
{
	size_t first = 0, end = sources->count;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (sources->items[middle].target < target)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

bool code_sources_of(const struct code_sources *sources, u64 target,
		     const struct code_source **ret_sources, size_t *ret_count)
{
	size_t first;

	if (!asked_find(sources, target))
		return false;
	first = place_of(sources, target);
	*ret_sources = sources->items + first;
	*ret_count = place_of(sources, target + 1) - first;
	return true;
}
