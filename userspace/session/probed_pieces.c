/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/probed_pieces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define PAGE_BYTES 4096

struct listing {
	struct probed_pieces *pieces;
	bool heap;
};

static int on_piece(void *data, const struct code_piece *found, u64 start)
{
	const struct listing *listing = data;
	struct probed_pieces *pieces = listing->pieces;
	struct probed_piece piece = {.start = start,
				     .end = start + found->size_bytes,
				     .file_offset = found->file_offset,
				     .number = found->number,
				     .heap = listing->heap};

	if (array_reserve(&pieces->items, &pieces->capacity, pieces->count + 1))
		return -ENOMEM;
	pieces->items[pieces->count++] = piece;
	return 0;
}

int probed_pieces_list(const struct plan *plan, const struct plan *heap_plan,
		       const struct code_memory *memory, struct probed_pieces *ret_pieces)
{
	struct probed_pieces pieces = {.plan = plan, .heap_plan = heap_plan};
	struct listing listing = {&pieces, false};
	int result = code_pieces_in_memory(plan, memory, on_piece, &listing);

	listing.heap = true;
	if (!result && heap_plan)
		result = code_pieces_in_memory(heap_plan, memory, on_piece, &listing);
	if (result)
		probed_pieces_free(&pieces);
	*ret_pieces = pieces;
	return result;
}

void probed_pieces_free(struct probed_pieces *pieces)
{
	free(pieces->items);
	*pieces = (struct probed_pieces){0};
}

struct code_piece_owner probed_piece_owner(const struct probed_pieces *pieces,
					   const struct probed_piece *piece)
{
	return code_piece_owner(piece->heap ? pieces->heap_plan : pieces->plan, piece->number);
}

/* ---- pages ---- */

static int compare_ranges(const void *left, const void *right)
{
	const struct probed_range *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* False: there is no room for them, with no more than that between those that are taken together. */
static bool merge(const struct probed_range *pages, size_t count, u64 gap,
		  struct probed_code *ret_code)
{
	ret_code->count = 0;
	for (size_t i = 0; i < count; i++) {
		struct probed_range *last = &ret_code->items[ret_code->count - 1];

		if (ret_code->count && pages[i].start <= last->end + gap) {
			last->end = pages[i].end > last->end ? pages[i].end : last->end;
			continue;
		}
		if (ret_code->count == PROBED_RANGES_MAX)
			return false;
		ret_code->items[ret_code->count++] = pages[i];
	}
	return true;
}

int probed_pieces_pack(const struct probed_pieces *pieces, struct probed_code *ret_code)
{
	struct probed_range *pages = calloc(pieces->count + 1, sizeof(*pages));
	u64 gap = 0;

	if (!pages)
		return -ENOMEM;
	for (size_t i = 0; i < pieces->count; i++)
		pages[i] = (struct probed_range){pieces->items[i].start / PAGE_BYTES * PAGE_BYTES,
						 (pieces->items[i].end + PAGE_BYTES - 1) /
							 PAGE_BYTES * PAGE_BYTES};
	qsort(pages, pieces->count, sizeof(*pages), compare_ranges);
	memset(ret_code, 0, sizeof(*ret_code));
	while (!merge(pages, pieces->count, gap, ret_code))
		gap = gap ? 2 * gap : PAGE_BYTES;
	free(pages);
	return 0;
}

/* ---- places ---- */

/* Pieces of a function that do not begin with its entry are exits alone. */
static int function_places(const struct plan_function *function, const struct probed_piece *piece,
			   probed_place_callback callback, void *data)
{
	u64 size = piece->end - piece->start, file_offset = piece->file_offset;
	int result = 0;

	if (function->file_offset >= file_offset && function->file_offset - file_offset < size)
		result = callback(data, piece->start + (function->file_offset - file_offset),
				  function->bytes.bytes[0]);
	for (size_t s = 0; s < function->site_count && !result; s++) {
		const struct return_site *site = &function->sites[s];

		if (site->file_offset >= file_offset && site->file_offset - file_offset < size)
			result = callback(data, piece->start + (site->file_offset - file_offset),
					  site->bytes.bytes[0]);
	}
	return result;
}

int probed_piece_places(const struct probed_pieces *pieces, const struct probed_piece *piece,
			probed_place_callback callback, void *data)
{
	struct code_piece_owner owner = probed_piece_owner(pieces, piece);

	return owner.function ? function_places(owner.function, piece, callback, data)
			      : callback(data, piece->start, owner.site->bytes.bytes[0]);
}
