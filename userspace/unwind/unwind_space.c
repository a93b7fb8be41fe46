/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/unwind_space.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

static int compare_numbers(u64 a, u64 b)
{
	return (a > b) - (a < b);
}

static int compare_places(const void *left, const void *right)
{
	const struct unwind_mapping *a = left, *b = right;

	return compare_numbers(a->start, b->start);
}

static size_t merge_neighbours(struct unwind_mapping *mappings, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct unwind_mapping *last = kept ? &mappings[kept - 1] : NULL;

		if (last && last->end == mappings[i].start && last->file == mappings[i].file &&
		    last->bias == mappings[i].bias)
			last->end = mappings[i].end;
		else
			mappings[kept++] = mappings[i];
	}
	return kept;
}

struct rival {
	struct unwind_mapping mapping;
	u64 of_file; /* so many are of the same file */
};

static int compare_files(const void *left, const void *right)
{
	const struct rival *a = left, *b = right;

	return compare_numbers(a->mapping.file, b->mapping.file);
}

/* Who stays first. */
static int compare_rivals(const void *left, const void *right)
{
	const struct rival *a = left, *b = right;
	bool first = a->mapping.file == UNWIND_NO_TABLE,
	     second = b->mapping.file == UNWIND_NO_TABLE;

	if (first != second)
		return first - second;
	if (a->of_file != b->of_file)
		return compare_numbers(a->of_file, b->of_file);
	return compare_numbers(a->mapping.start, b->mapping.start);
}

static void count_by_file(struct rival *rivals, size_t count)
{
	qsort(rivals, count, sizeof(*rivals), compare_files);
	for (size_t begin = 0, end; begin < count; begin = end) {
		for (end = begin; end < count; end++)
			if (rivals[end].mapping.file != rivals[begin].mapping.file)
				break;
		for (size_t i = begin; i < end; i++)
			rivals[i].of_file = end - begin;
	}
}

int unwind_space_fit(struct unwind_mapping *mappings, size_t *count, size_t most,
		     size_t *ret_left_out)
{
	_cleanup_free_ struct rival *rivals = NULL;
	size_t merged;

	qsort(mappings, *count, sizeof(*mappings), compare_places);
	merged = merge_neighbours(mappings, *count);
	*ret_left_out = 0;
	if (merged > most) {
		rivals = calloc(merged, sizeof(*rivals));
		if (!rivals)
			return -ENOMEM;
		for (size_t i = 0; i < merged; i++)
			rivals[i].mapping = mappings[i];
		count_by_file(rivals, merged);
		qsort(rivals, merged, sizeof(*rivals), compare_rivals);
		for (size_t i = 0; i < most; i++)
			mappings[i] = rivals[i].mapping;
		qsort(mappings, most, sizeof(*mappings), compare_places);
		*ret_left_out = merged - most;
		merged = most;
	}
	*count = merged;
	return 0;
}
