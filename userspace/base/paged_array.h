/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An array that may be too large for memory: of pages of items those that were used last are kept, the others lie in a file without a
 * name (base/temporary_file.h). What goes wrong with that is kept too, and asked for once all is done: until then items read as zero.
 */
#ifndef GPUPROBE_BASE_PAGED_ARRAY_H
#define GPUPROBE_BASE_PAGED_ARRAY_H

#include "base/err.h"
#include "base/types.h"

#define PAGED_ARRAY_ITEMS 256 /* of a page */
#define PAGED_ARRAY_PAGES 128 /* in memory at most */

struct paged_array_page;

/* paged_array_init(). */
struct paged_array {
	size_t count; /* of items; may be lowered, for good */
	size_t item_bytes;
	struct paged_array_page *pages; /* those in memory */
	size_t page_count, next;	/* next: the one that may go first */
	u32 *places;			/* [page of items]: where it is among these + 1; 0: it is not */
	size_t place_capacity;
	int fd; /* -1: all is in memory */
	int failed;
	struct err err; /* why */
	u64 loads;   /* of pages that were not in memory */
	size_t last; /* the page of items that was asked for last, and where it is */
	u8 *last_items;
};

void paged_array_init(struct paged_array *array, size_t item_bytes);
void paged_array_free(struct paged_array *array);

/* The page of items that item place is in; to be written to. */
u8 *paged_array_load(struct paged_array *array, size_t page, bool writes);

/* Valid until the next call of any of these. place: below count. */
static inline const void *paged_array_at(struct paged_array *array, size_t place)
{
	size_t page = place / PAGED_ARRAY_ITEMS;
	const u8 *items = page == array->last ? array->last_items : paged_array_load(array, page, false);

	return items + place % PAGED_ARRAY_ITEMS * array->item_bytes;
}

/* The same, to be changed before the next call. */
static inline void *paged_array_change(struct paged_array *array, size_t place)
{
	return paged_array_load(array, place / PAGED_ARRAY_ITEMS, true) + place % PAGED_ARRAY_ITEMS * array->item_bytes;
}

/* Those that are added are zero. 0 or -ENOMEM. */
int paged_array_grow(struct paged_array *array, size_t count);

/* 0, or what went wrong since paged_array_init(). */
int paged_array_check(const struct paged_array *array, struct err *err);

#endif
