/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows that replace others, while the BPF programs read the words. */
#include <errno.h>
#include <string.h>

#include "unwind/unwind_words.h"

/* The rows of a page as they are to be. */
struct page_rows {
	u32 items[UNWIND_PAGE_BYTES];
	u32 count;
};

static void row_add(struct page_rows *page, u64 address, u32 rule)
{
	if (page->count && UNWIND_ROW_RULE(page->items[page->count - 1]) == rule)
		return;
	page->items[page->count++] = UNWIND_ROW(address, rule);
}

static u64 first_address(const struct unwind_words *words)
{
	return (u64)words->items[UNWIND_FIRST_PAGE] * UNWIND_PAGE_BYTES;
}

static u64 end_address(const struct unwind_words *words)
{
	return first_address(words) + (u64)words->items[UNWIND_PAGE_COUNT] * UNWIND_PAGE_BYTES;
}

/* The rows of the page that an address is in. */
static const u32 *page_find(const struct unwind_words *words, u64 address, u32 *ret_count)
{
	u64 page = (address - first_address(words)) / UNWIND_PAGE_BYTES;

	*ret_count = words->items[UNWIND_PAGE(page) + 1];
	return &words->items[words->items[UNWIND_PAGE(page)]];
}

static u32 row_index(const u32 *rows, u32 count, u64 address)
{
	u32 index = 0;

	while (index + 1 < count &&
	       UNWIND_ROW_ADDRESS(rows[index + 1]) <= UNWIND_ROW_ADDRESS(address))
		index++;
	return index;
}

u32 unwind_words_rule(const struct unwind_words *words, u64 address)
{
	const u32 *rows;
	u32 count;

	if (address < first_address(words) || address >= end_address(words))
		return UNWIND_RULE_NONE;
	rows = page_find(words, address, &count);
	return UNWIND_ROW_RULE(rows[row_index(rows, count, address)]);
}

void unwind_words_stretch(const struct unwind_words *words, u64 address, u64 *ret_start,
			  u64 *ret_end)
{
	u64 page = address / UNWIND_PAGE_BYTES * UNWIND_PAGE_BYTES, start, end;
	u32 rule = unwind_words_rule(words, address), count, index;
	const u32 *rows;

	*ret_start = *ret_end = address;
	if (address < first_address(words) || address >= end_address(words))
		return;
	rows = page_find(words, address, &count);
	index = row_index(rows, count, address);
	start = page + UNWIND_ROW_ADDRESS(rows[index]);
	end = index + 1 < count ? page + UNWIND_ROW_ADDRESS(rows[index + 1])
				: page + UNWIND_PAGE_BYTES;
	while (start % UNWIND_PAGE_BYTES == 0 && start > first_address(words)) {
		rows = page_find(words, start - 1, &count);
		if (UNWIND_ROW_RULE(rows[count - 1]) != rule)
			break;
		start += UNWIND_ROW_ADDRESS(rows[count - 1]);
		start -= UNWIND_PAGE_BYTES;
	}
	while (end % UNWIND_PAGE_BYTES == 0 && end < end_address(words)) {
		rows = page_find(words, end, &count);
		if (UNWIND_ROW_RULE(rows[0]) != rule)
			break;
		end += count > 1 ? UNWIND_ROW_ADDRESS(rows[1]) : UNWIND_PAGE_BYTES;
	}
	*ret_start = start;
	*ret_end = end;
}

/* What the rows of a page become. */
static void merge(const struct unwind_words *words, const struct unwind_patch *patch, u64 start,
		  struct page_rows *ret_page)
{
	u64 end = start + UNWIND_PAGE_BYTES;
	u32 count, i;
	const u32 *rows = page_find(words, start, &count);

	ret_page->count = 0;
	for (i = 0; i < count && start + UNWIND_ROW_ADDRESS(rows[i]) < patch->start; i++)
		row_add(ret_page, UNWIND_ROW_ADDRESS(rows[i]), UNWIND_ROW_RULE(rows[i]));
	for (size_t at = 0; at < patch->count; at++) {
		const struct unwind_patch_row *row = &patch->rows[at];
		u64 from = row->address < start ? start : row->address;
		u64 to = at + 1 < patch->count ? row[1].address : patch->end;

		if (from < to && from < end)
			row_add(ret_page, from, row->rule);
	}
	if (patch->end >= end)
		return;
	i = row_index(rows, count, patch->end);
	row_add(ret_page, patch->end, UNWIND_ROW_RULE(rows[i]));
	for (i++; i < count; i++)
		row_add(ret_page, UNWIND_ROW_ADDRESS(rows[i]), UNWIND_ROW_RULE(rows[i]));
}

static int page_replace(struct unwind_words *words, const struct page_rows *page, u64 start)
{
	u64 number = (start - first_address(words)) / UNWIND_PAGE_BYTES;
	size_t left = UNWIND_CHUNK_WORDS - words->used % UNWIND_CHUNK_WORDS;
	size_t place = page->count <= left ? words->used : words->used + left;
	u64 *both = (u64 *)(void *)&words->items[UNWIND_PAGE(number)];

	if (place + page->count > words->count)
		return -ENOSPC;
	memcpy(&words->items[place], page->items, page->count * sizeof(u32));
	words->used = place + page->count;
	__atomic_store_n(both, place | (u64)page->count << 32, __ATOMIC_RELEASE);
	return 0;
}

int unwind_words_patch(struct unwind_words *words, const struct unwind_patch *patch)
{
	u64 page = patch->start / UNWIND_PAGE_BYTES * UNWIND_PAGE_BYTES;
	struct page_rows rows;
	int result = 0;

	if (page < first_address(words) || patch->end > end_address(words))
		return -EINVAL;
	for (; page < patch->end && !result; page += UNWIND_PAGE_BYTES) {
		merge(words, patch, page, &rows);
		result = page_replace(words, &rows, page);
	}
	return result;
}
