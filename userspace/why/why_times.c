/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why/why_times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/temporary_file.h"
#include "why/why_notes.h"

#define NO_ROW32 UINT32_MAX

struct why_times {
	struct why why; /* its GPUs and strings */
	struct why_notes notes;
	bool made;
	int result;	/* of making them: there is no room in a temporary file */
	struct err err; /* of result */
};

static void times_empty(struct why_times *times)
{
	why_notes_free(&times->notes);
	why_free(&times->why);
}

static void times_free(void *data)
{
	struct why_times *times = data;

	times_empty(times);
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

/* Beside others. point(), counter() and total() are one function of that part. */
struct guard {
	struct view_part part;
	struct why_times *times;
};

/* Without room in temporary files these are left out, and others go on: it is theirs. Whatever else fails would fail others too. */
static int leave_out(struct why_times *times, int result, struct err *err)
{
	if (!temporary_file_is_failure(result))
		return result;
	times->result = result;
	times->err = *err;
	*err = (struct err){0};
	return 0;
}

static int guard_open(void *data, const struct view *view, const struct view_survey *survey,
		      struct err *err)
{
	const struct guard *guard = data;
	const struct view_part *part = &guard->part;

	if (!part->sink->open)
		return 0;
	return leave_out(guard->times, part->sink->open(part->data, view, survey, err), err);
}

static int guard_span(void *data, const struct view_event *event, struct err *err)
{
	const struct guard *guard = data;
	const struct view_part *part = &guard->part;

	if (guard->times->result < 0)
		return 0;
	return leave_out(guard->times, part->sink->span(part->data, event, err), err);
}

static int guard_other(void *data, const struct view_event *event, struct err *err)
{
	const struct guard *guard = data;
	const struct view_part *part = &guard->part;

	if (guard->times->result < 0)
		return 0;
	return leave_out(guard->times, part->sink->point(part->data, event, err), err);
}

static int finish(struct why_times *times, struct why_making *making, struct err *err)
{
	int result;

	if (times->result < 0)
		return 0;
	result = why_making_finish(making, NULL, err);
	if (result == 0 && times->notes.result < 0) {
		result = times->notes.result;
		*err = times->notes.err;
	}
	return leave_out(times, result, err);
}

/* Of an error nothing is kept: who asks again has them looked for again. */
static int make_beside(struct view *view, struct why_times *times, const struct view_part *others,
		       size_t count, struct err *err)
{
	static const struct view_sink sink = {.open = guard_open,
					      .span = guard_span,
					      .point = guard_other,
					      .counter = guard_other,
					      .total = guard_other,
					      .only_recorded = true};
	struct view_part parts[VIEW_PARTS_MAX];
	struct guard guard = {.times = times};
	struct why_making *making;
	int result = why_making_new(view, false, &times->notes, &times->why, &making, err);

	if (result < 0)
		return result;
	times->made = true;
	for (size_t i = 0; i < count; i++)
		parts[i] = others[i];
	guard.part = why_making_part(making);
	parts[count] = (struct view_part){&sink, &guard};
	result = view_run_together(view, parts, count + 1, err);
	if (result == 0)
		result = finish(times, making, err);
	why_making_free(making);
	if (result < 0) {
		times->made = false;
		times->result = 0;
	}
	/* Room in temporary files is the others'. */
	if (result < 0 || times->result < 0)
		times_empty(times);
	return result;
}

int why_times_beside(const struct view *view, const struct view_part *others, size_t count,
		     struct err *err)
{
	static const u16 work[VIEW_ROW_KINDS_MAX] = {VIEW_GPU_WORK};
	struct why_times *times = times_of(view);

	if (!times)
		return err_errno(err, -ENOMEM, "can't keep why GPUs were idle");
	/* A run changes what a view has made up to now, nothing that it has said. */
	if (times->made || !view_has_any(view, work) || count >= VIEW_PARTS_MAX)
		return view_run_together((struct view *)view, others, count, err);
	return make_beside((struct view *)view, times, others, count, err);
}

int why_times(const struct view *view, const struct why_times **ret_times, struct err *err)
{
	struct why_times *times = times_of(view);
	int result = 0;

	if (!times)
		return err_errno(err, -ENOMEM, "can't keep why GPUs were idle");
	if (!times->made)
		result = make_beside((struct view *)view, times, NULL, 0, err);
	if (result == 0 && times->result < 0)
		result = err_set(err, times->result, "%s", times->err.message);
	if (result == 0)
		*ret_times = times;
	return result;
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
};

/* Its gaps, each from where it is known to be long enough. */
struct why_times_gpu {
	struct why_times_place places[WHY_RUNS];
	struct why_note *parts; /* to be given, of one gap */
	size_t next, count, capacity;
	u64 since_ns, until_ns; /* of the gap that was read last, as far as it was */
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
	if (place->ahead.sort == WHY_CODE || place->ahead.sort == WHY_CODE_OR_WAIT)
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

static struct why_times_place *first_place(struct why_times_gpu *gpu)
{
	struct why_times_place *first = &gpu->places[0];

	for (size_t i = 1; i < WHY_RUNS; i++)
		if (gpu->places[i].entry.since_ns < first->entry.since_ns)
			first = &gpu->places[i];
	return first;
}

/* The next part, and those behind it up to where the gap is long enough: behind that each part by itself. Gaps that do not come so far are passed. */
static int read_parts(const struct why_times_reader *reader, struct why_times_gpu *gpu,
		      struct err *err)
{
	gpu->next = gpu->count = 0;
	for (;;) {
		struct why_times_place *first = first_place(gpu);
		const struct why_note *entry = &first->entry;
		int result;

		if (entry->since_ns != gpu->until_ns) {
			gpu->count = 0;
			gpu->since_ns = entry->since_ns;
		}
		if (entry->since_ns == ~0ULL)
			return 0;
		if (array_reserve(&gpu->parts, &gpu->capacity, gpu->count + 1))
			return err_errno(err, -ENOMEM, "can't read why GPUs were idle");
		gpu->parts[gpu->count++] = *entry;
		gpu->until_ns = entry->until_ns;
		result = go_on(reader->times, first, err);
		if (result < 0)
			return result;
		if (gpu->until_ns - gpu->since_ns >= reader->least_gap_ns)
			return 0;
	}
}

static int read_gpu(struct why_times_reader *reader, size_t number, struct err *err)
{
	const struct why_times *times = reader->times;
	struct why_times_gpu *gpu = &reader->gpus[number];

	for (size_t i = 0; i < WHY_RUNS; i++) {
		struct why_times_place *place = &gpu->places[i];
		int result;

		place->reader.spool = &times->notes.gpus[number].lists[i].spool;
		place->reader.store = &times->notes.store;
		result = read_ahead(times, place, err);
		if (result == 0)
			result = go_on(times, place, err);
		if (result < 0)
			return result;
	}
	gpu->until_ns = ~0ULL;
	return read_parts(reader, gpu, err);
}

int why_times_read(struct why_times_reader *reader, const struct why_times *times, u64 least_gap_ns,
		   struct err *err)
{
	int result = 0;

	reader->times = times;
	reader->least_gap_ns = least_gap_ns;
	reader->gpus = calloc(times->notes.gpu_count + 1, sizeof(*reader->gpus));
	if (!reader->gpus)
		return err_errno(err, -ENOMEM, "can't read why GPUs were idle");
	reader->count = times->notes.gpu_count;
	for (size_t i = 0; i < reader->count && result == 0; i++)
		result = read_gpu(reader, i, err);
	return result;
}

/* NULL: no GPU has a part left. */
static struct why_times_gpu *first_gpu(const struct why_times_reader *reader)
{
	struct why_times_gpu *first = NULL;

	for (size_t i = 0; i < reader->count; i++) {
		struct why_times_gpu *gpu = &reader->gpus[i];

		if (gpu->count &&
		    (!first || gpu->parts[gpu->next].since_ns < first->parts[first->next].since_ns))
			first = gpu;
	}
	return first;
}

u64 why_times_next_ns(const struct why_times_reader *reader)
{
	const struct why_times_gpu *first = first_gpu(reader);

	return first ? first->parts[first->next].since_ns : ~0ULL;
}

static size_t row_of(u32 row)
{
	return row == NO_ROW32 ? WHY_NO_ROW : row;
}

int why_times_next(struct why_times_reader *reader, struct why_time *ret_time, struct err *err)
{
	struct why_times_gpu *first = first_gpu(reader);
	const struct why_note *part = &first->parts[first->next++];

	*ret_time = (struct why_time){
		.since_ns = part->since_ns,
		.until_ns = part->until_ns,
		.sort = part->sort,
		.gpu = (u32)(first - reader->gpus),
		.what = reader->times->why.whats.strings[part->what],
		.row_index = row_of(part->row),
		.waiter = row_of(part->waiter),
	};
	return first->next < first->count ? 0 : read_parts(reader, first, err);
}

void why_times_reader_free(struct why_times_reader *reader)
{
	for (size_t i = 0; i < reader->count; i++) {
		for (size_t run = 0; run < WHY_RUNS; run++)
			spool_reader_free(&reader->gpus[i].places[run].reader);
		free(reader->gpus[i].parts);
	}
	free(reader->gpus);
	*reader = (struct why_times_reader){0};
}
