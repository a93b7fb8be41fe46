/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steps/step_items.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Items are sorted by one digit of their thread's number at a time, the last one first: each sort leaves what is equal in its order (radix
 * sort). As many places are written to in turns as a digit has values: fewer than pages are kept in memory. */
#define DIGIT_BITS   6
#define DIGIT_VALUES (1 << DIGIT_BITS)

_Static_assert(DIGIT_VALUES < PAGED_ARRAY_PAGES, "a page for each place that is written to");

/* The rows that have items, numbered in their order. */
struct step_rows {
	size_t count;	      /* of all rows */
	const size_t *places; /* [row]: where its items begin, and the next one's */
	u32 *numbers;	      /* [row] */
	size_t numbered;
};

/* Two arrays by time; the second may be empty. */
struct source {
	struct paged_array *first, *second;
	size_t at_first, at_second;
};

static const struct step_item *item_at(struct paged_array *items, size_t place)
{
	return paged_array_at(items, place);
}

/* Only those about which something is known, up to where others are missing, counted by row. ret_by_row: they are as they are to be: of one
 * thread they always are, and they are many. */
static void drop_unknown(struct paged_array *items, u64 cut_ns, size_t *counts, bool *ret_by_row)
{
	size_t count = 0;
	u32 row = 0;

	*ret_by_row = true;
	for (size_t i = 0; i < items->count; i++) {
		struct step_item item = *item_at(items, i);

		if (!item.name || item.ts_ns >= cut_ns)
			continue;
		*ret_by_row &= item.row >= row;
		row = item.row;
		counts[row]++;
		if (i != count)
			*(struct step_item *)paged_array_change(items, count) = item;
		count++;
	}
	items->count = count;
}

/* From how many each row has to where they begin. */
static void find_places(size_t *places, size_t row_count)
{
	size_t sum = 0;

	for (size_t row = 0; row <= row_count; row++) {
		size_t count = places[row];

		places[row] = sum;
		sum += count;
	}
}

static size_t count_of(const struct step_rows *rows, size_t row)
{
	return rows->places[row + 1] - rows->places[row];
}

static int number_rows(struct step_rows *rows)
{
	rows->numbers = calloc(rows->count + 1, sizeof(*rows->numbers));
	if (!rows->numbers)
		return -ENOMEM;
	for (size_t row = 0; row < rows->count; row++) {
		rows->numbers[row] = rows->numbered;
		rows->numbered += count_of(rows, row) > 0;
	}
	return 0;
}

/* ---- sorting ---- */

static unsigned digit_of(const struct step_rows *rows, size_t row, unsigned shift)
{
	return rows->numbers[row] >> shift & (DIGIT_VALUES - 1);
}

static bool has_item(const struct source *source)
{
	return (source->at_first < source->first->count ||
		source->at_second < source->second->count) &&
	       !source->first->failed && !source->second->failed;
}

static struct step_item take_item(struct source *source)
{
	bool first = source->at_second == source->second->count ||
		     (source->at_first < source->first->count &&
		      item_at(source->first, source->at_first)->ts_ns <
			      item_at(source->second, source->at_second)->ts_ns);

	return first ? *item_at(source->first, source->at_first++)
		     : *item_at(source->second, source->at_second++);
}

/* What is known of an array that goes. */
static void inherit(struct paged_array *to, struct paged_array *from)
{
	if (from->failed && !to->failed)
		to->failed = paged_array_check(from, &to->err);
	to->loads += from->loads;
	paged_array_free(from);
}

static int sort_by_digit(struct paged_array *items, struct paged_array *launches,
			 const struct step_rows *rows, unsigned shift)
{
	struct source source = {items, launches, 0, 0};
	size_t places[DIGIT_VALUES + 1] = {0};
	struct paged_array sorted;

	paged_array_init(&sorted, sizeof(struct step_item));
	if (paged_array_grow(&sorted, items->count + launches->count) < 0) {
		paged_array_free(&sorted);
		return -ENOMEM;
	}
	for (size_t row = 0; row < rows->count; row++)
		places[digit_of(rows, row, shift)] += count_of(rows, row);
	find_places(places, DIGIT_VALUES);
	while (has_item(&source)) {
		struct step_item item = take_item(&source);
		size_t place = places[digit_of(rows, item.row, shift)]++;

		/* What can't be read is of another row than was counted. */
		if (place < sorted.count)
			*(struct step_item *)paged_array_change(&sorted, place) = item;
	}
	inherit(&sorted, items);
	inherit(&sorted, launches);
	*items = sorted;
	return 0;
}

int step_items_merge(struct paged_array *items, struct paged_array *launches, u64 cut_ns,
		     size_t row_count, size_t *places)
{
	struct step_rows rows = {.count = row_count, .places = places};
	bool items_by_row, launches_by_row;
	unsigned shift = 0;
	int result;

	memset(places, 0, (row_count + 1) * sizeof(*places));
	drop_unknown(items, cut_ns, places, &items_by_row);
	drop_unknown(launches, cut_ns, places, &launches_by_row);
	find_places(places, row_count);
	if (!items->count && launches_by_row) {
		inherit(launches, items);
		*items = *launches;
		paged_array_init(launches, sizeof(struct step_item));
		return 0;
	}
	result = number_rows(&rows);
	do {
		if (result == 0)
			result = sort_by_digit(items, launches, &rows, shift);
		shift += DIGIT_BITS;
	} while (result == 0 && rows.numbered > (size_t)1 << shift);
	free(rows.numbers);
	return result;
}
