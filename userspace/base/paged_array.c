/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/paged_array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/temporary_file.h"

struct paged_array_page {
	u8 *items;
	size_t number; /* of these items */
	bool changed;  /* since it was read */
	bool used;     /* since it was passed over */
};

#define NO_PAGE (~(size_t)0)

static size_t page_bytes(const struct paged_array *array)
{
	return PAGED_ARRAY_ITEMS * array->item_bytes;
}

void paged_array_init(struct paged_array *array, size_t item_bytes)
{
	*array = (struct paged_array){.item_bytes = item_bytes, .fd = -1, .last = NO_PAGE};
}

void paged_array_free(struct paged_array *array)
{
	for (size_t i = 0; i < array->page_count; i++)
		free(array->pages[i].items);
	free(array->pages);
	free(array->places);
	if (array->fd >= 0)
		close(array->fd);
	paged_array_init(array, array->item_bytes);
}

/* ---- the file ---- */

static void write_page(struct paged_array *array, const struct paged_array_page *page)
{
	int result = 0;

	if (array->fd < 0)
		result = temporary_file_open(&array->fd, &array->err);
	if (result == 0) {
		result = file_write_at(array->fd, page->items, page_bytes(array),
				       page->number * page_bytes(array));
		if (result < 0)
			err_errno(
				&array->err, result,
				"can't write a temporary file. Set TMPDIR to a folder with space");
	}
	array->failed = result;
}

/* What was never written is zero. */
static void read_page(struct paged_array *array, struct paged_array_page *page)
{
	ssize_t got = 0;

	if (array->fd >= 0 && !array->failed)
		got = file_read_at(array->fd, page->items, page_bytes(array),
				   page->number * page_bytes(array));
	if (got < 0) {
		array->failed = got;
		err_errno(&array->err, got, "can't read a temporary file");
		got = 0;
	}
	memset(page->items + got, 0, page_bytes(array) - got);
}

/* ---- pages ---- */

static struct paged_array_page *add_page(struct paged_array *array)
{
	struct paged_array_page *page;

	if (!array->pages)
		array->pages = calloc(PAGED_ARRAY_PAGES, sizeof(*array->pages));
	if (!array->pages)
		return NULL;
	page = &array->pages[array->page_count];
	page->items = malloc(page_bytes(array));
	if (!page->items)
		return NULL;
	array->page_count++;
	return page;
}

/* One that was not used since it was passed over last. */
static struct paged_array_page *give_away(struct paged_array *array)
{
	struct paged_array_page *page;

	for (;;) {
		page = &array->pages[array->next];
		array->next = (array->next + 1) % array->page_count;
		if (!page->used)
			break;
		page->used = false;
	}
	if (page->changed && !array->failed)
		write_page(array, page);
	array->places[page->number] = 0;
	return page;
}

/* There is one to give away: paged_array_grow() made the first. */
static struct paged_array_page *place_page(struct paged_array *array, size_t number)
{
	struct paged_array_page *page = NULL;

	array->loads++;
	if (array->page_count < PAGED_ARRAY_PAGES)
		page = add_page(array);
	if (!page)
		page = give_away(array);
	page->number = number;
	page->changed = false;
	read_page(array, page);
	array->places[number] = page - array->pages + 1;
	return page;
}

u8 *paged_array_load(struct paged_array *array, size_t page, bool writes)
{
	u32 place = array->places[page];
	struct paged_array_page *found = place ? &array->pages[place - 1] : place_page(array, page);

	found->used = true;
	found->changed |= writes;
	array->last = page;
	array->last_items = found->items;
	return found->items;
}

/* ---- how many there are ---- */

int paged_array_grow(struct paged_array *array, size_t count)
{
	size_t pages = (count + PAGED_ARRAY_ITEMS - 1) / PAGED_ARRAY_ITEMS;
	size_t before = array->place_capacity;

	if (array_reserve(&array->places, &array->place_capacity, pages) < 0)
		return -ENOMEM;
	if (array->place_capacity > before)
		memset(array->places + before, 0,
		       (array->place_capacity - before) * sizeof(*array->places));
	if (count && !array->page_count) {
		struct paged_array_page *page = add_page(array);

		if (!page)
			return -ENOMEM;
		memset(page->items, 0, page_bytes(array));
		array->places[0] = 1;
	}
	array->count = count;
	return 0;
}

int paged_array_check(const struct paged_array *array, struct err *err)
{
	if (array->failed)
		*err = array->err;
	return array->failed;
}
