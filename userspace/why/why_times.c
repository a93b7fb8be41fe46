/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why/why_times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "why/why_notes.h"

#define NO_ROW32 UINT32_MAX

struct why_times {
	struct why why; /* its GPUs and strings */
	struct why_notes notes;
	bool made;
	int result;
	struct err err; /* of result */
};

static void times_free(void *data)
{
	struct why_times *times = data;

	why_notes_free(&times->notes);
	why_free(&times->why);
	free(times);
}

static void *times_make(void)
{
	struct why_times *times = calloc(1, sizeof(*times));

	if (times)
		times->notes.store = (struct spool_store)SPOOL_STORE_INIT;
	return times;
}

static struct why_times *times_of(const struct view *view)
{
	static const struct view_companion_type type = {times_make, times_free};

	return view_companion(view, &type);
}

/* ---- all of them ---- */

int why_times(const struct view *view, const struct why_times **ret_times, struct err *err)
{
	struct why_times *times = times_of(view);

	if (!times)
		return err_errno(err, -ENOMEM, "can't keep why GPUs were idle");
	if (!times->made) {
		times->made = true;
		times->result = why_make((struct view *)view, NULL, &times->notes, &times->why,
					 &times->err);
		if (times->result == 0 && times->notes.result < 0) {
			times->result = times->notes.result;
			times->err = times->notes.err;
		}
	}
	if (times->result < 0)
		return err_set(err, times->result, "%s", times->err.message);
	*ret_times = times;
	return 0;
}

const char *why_times_missing(const struct view *view)
{
	const struct why_times *times = times_of(view);

	return times && times->result < 0 ? times->err.message : NULL;
}

const struct why_gpu *why_times_gpus(const struct why_times *times, size_t *ret_count)
{
	*ret_count = times->why.gpu_count;
	return times->why.gpus;
}

/* ---- reading ---- */

struct why_times_place {
	struct spool_reader reader;
	struct why_note entry,
		ahead; /* the next one, and what is behind it; since_ns ~0: there are no more */
	u32 gpu;
};

static int read_ahead(const struct why_times *times, struct why_times_place *place, struct err *err)
{
	const void *next;
	int result = spool_next(&place->reader, sizeof(place->ahead), &next, err);

	if (result < 0)
		return result;
	if (result == 0) {
		place->ahead = (struct why_note){.since_ns = ~0ULL};
		return 0;
	}
	memcpy(&place->ahead, next, sizeof(place->ahead));
	if (place->ahead.sort == WHY_CODE)
		place->ahead.what = times->notes.parts[place->ahead.what];
	return 0;
}

/* Parts that have one name are one. */
static int go_on(const struct why_times *times, struct why_times_place *place, struct err *err)
{
	int result;

	place->entry = place->ahead;
	do {
		place->entry.until_ns = place->ahead.until_ns;
		result = read_ahead(times, place, err);
	} while (result == 0 && why_note_goes_on(&place->entry, &place->ahead));
	return result;
}

int why_times_read(struct why_times_reader *reader, const struct why_times *times, struct err *err)
{
	int result = 0;

	reader->times = times;
	reader->places = calloc(times->notes.gpu_count * WHY_RUNS + 1, sizeof(*reader->places));
	if (!reader->places)
		return err_errno(err, -ENOMEM, "can't read why GPUs were idle");
	reader->count = times->notes.gpu_count * WHY_RUNS;
	for (size_t i = 0; i < reader->count && result == 0; i++) {
		struct why_times_place *place = &reader->places[i];

		place->gpu = (u32)(i / WHY_RUNS);
		place->reader.spool = &times->notes.gpus[i / WHY_RUNS].lists[i % WHY_RUNS].spool;
		place->reader.store = &times->notes.store;
		result = read_ahead(times, place, err);
		if (result == 0)
			result = go_on(times, place, err);
	}
	return result;
}

static struct why_times_place *first_of(const struct why_times_reader *reader)
{
	struct why_times_place *first = NULL;

	for (size_t i = 0; i < reader->count; i++)
		if (!first || reader->places[i].entry.since_ns < first->entry.since_ns)
			first = &reader->places[i];
	return first;
}

u64 why_times_next_ns(const struct why_times_reader *reader)
{
	const struct why_times_place *first = first_of(reader);

	return first ? first->entry.since_ns : ~0ULL;
}

static size_t row_of(u32 row)
{
	return row == NO_ROW32 ? WHY_NO_ROW : row;
}

int why_times_next(struct why_times_reader *reader, struct why_time *ret_time, struct err *err)
{
	const struct why_times *times = reader->times;
	struct why_times_place *first = first_of(reader);
	const struct why_note *entry = &first->entry;

	*ret_time = (struct why_time){
		.since_ns = entry->since_ns,
		.until_ns = entry->until_ns,
		.sort = entry->sort,
		.gpu = first->gpu,
		.what = times->why.whats.strings[entry->what],
		.row_index = row_of(entry->row),
		.waiter = row_of(entry->waiter),
	};
	return go_on(times, first, err);
}

void why_times_reader_free(struct why_times_reader *reader)
{
	for (size_t i = 0; i < reader->count; i++)
		spool_reader_free(&reader->places[i].reader);
	free(reader->places);
	*reader = (struct why_times_reader){0};
}
