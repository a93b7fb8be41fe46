/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/code_pieces.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "code/patch_bytes.h"

static int add(struct code_pieces *pieces, u64 begin, u64 end, size_t number)
{
	if (array_reserve(&pieces->items, &pieces->capacity, pieces->count + 1))
		return -ENOMEM;
	pieces->items[pieces->count++] = (struct code_piece){begin, (u32)(end - begin), number};
	return 0;
}

static u64 end_of(u64 file_offset, const struct site_bytes *bytes)
{
	return file_offset + bytes->size_bytes;
}

/* At least what a patch of the entry takes; places elsewhere (NAME.cold) by themselves. */
static int add_function(struct code_pieces *pieces, const struct plan_function *function,
			size_t number)
{
	u64 begin = function->file_offset - function->placed_bytes;
	u64 limit = begin + function->size_bytes;
	u64 end = end_of(function->file_offset, &function->bytes);
	int result = 0;

	if (end < begin + PATCH_BYTES)
		end = limit < begin + PATCH_BYTES && limit >= end ? limit : begin + PATCH_BYTES;
	for (size_t s = 0; s < function->site_count && !result; s++) {
		u64 at = function->sites[s].file_offset;
		u64 behind = end_of(at, &function->sites[s].bytes);

		if (at < begin || at >= limit)
			result = add(pieces, at, behind, number);
		else if (behind > end)
			end = behind;
	}
	return result ? result : add(pieces, begin, end, number);
}

static int compare_pieces(const void *left, const void *right)
{
	const struct code_piece *a = left, *b = right;

	return a->file_offset < b->file_offset ? -1 : a->file_offset > b->file_offset;
}

int code_pieces_list(const struct plan *plan, size_t module, struct code_pieces *pieces)
{
	size_t number = plan->function_count;
	int result = 0;

	pieces->count = 0;
	for (size_t i = 0; i < plan->function_count && !result; i++)
		if (plan->functions[i].module == module)
			result = add_function(pieces, &plan->functions[i], i);
	for (size_t i = 0; i < plan->usdt_count && !result; i++)
		for (size_t s = 0; s < plan->usdt[i].site_count && !result; s++, number++) {
			const struct plan_usdt_site *site = &plan->usdt[i].sites[s];

			if (plan->usdt[i].module == module)
				result = add(pieces, site->file_offset,
					     end_of(site->file_offset, &site->bytes), number);
		}
	if (pieces->count)
		qsort(pieces->items, pieces->count, sizeof(*pieces->items), compare_pieces);
	return result;
}

struct code_piece_owner code_piece_owner(const struct plan *plan, size_t number)
{
	size_t place = number - plan->function_count, i = 0;

	if (number < plan->function_count)
		return (struct code_piece_owner){.function = &plan->functions[number],
						 .module = plan->functions[number].module};
	while (place >= plan->usdt[i].site_count)
		place -= plan->usdt[i++].site_count;
	return (struct code_piece_owner){.usdt = &plan->usdt[i],
					 .site = &plan->usdt[i].sites[place],
					 .module = plan->usdt[i].module};
}

static int each_in_mapping(const struct maps_line *line, const struct code_pieces *pieces,
			   code_piece_callback callback, void *data)
{
	u64 line_end = line->file_offset + (line->end - line->start);
	int result = 0;

	for (size_t i = 0; i < pieces->count && !result; i++) {
		const struct code_piece *piece = &pieces->items[i];
		u64 start = piece->file_offset - line->file_offset + line->start;

		if (piece->file_offset >= line->file_offset && piece->file_offset < line_end)
			result = callback(data, piece, start);
	}
	return result;
}

int code_pieces_in_memory(const struct plan *plan, const struct code_memory *memory,
			  code_piece_callback callback, void *data)
{
	struct code_pieces pieces = {0};
	const struct maps_line *line;
	int result = 0;

	for (size_t m = 0; m < plan->module_count && !result; m++) {
		size_t index = 0;

		result = code_pieces_list(plan, m, &pieces);
		while (!result && pieces.count &&
		       (line = code_memory_next(memory, &plan->modules[m], &index)))
			result = each_in_mapping(line, &pieces, callback, data);
	}
	free(pieces.items);
	return result;
}

struct changed {
	code_changed_callback callback;
	void *data;
};

static void on_difference(void *data, const struct code_piece *piece, u64 address)
{
	const struct changed *changed = data;

	changed->callback(changed->data, piece->number, address);
}

int code_pieces_compare(const struct plan *plan, struct code_memory *memory,
			code_changed_callback callback, void *data)
{
	struct changed changed = {callback, data};
	struct code_pieces pieces = {0};
	int result = 0;

	for (size_t m = 0; m < plan->module_count && !result; m++) {
		result = code_pieces_list(plan, m, &pieces);
		if (!result && pieces.count)
			code_memory_compare(memory, &plan->modules[m], pieces.items, pieces.count,
					    on_difference, &changed);
	}
	free(pieces.items);
	return result;
}
