/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/view_kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/spool.h"
#include "base/stop.h"
#include "view/view_parts.h"

#define FREE_SHARE \
	4 /* of the free space of temporary files, that which is kept has one part of so many */
#define EVENTS_BETWEEN_LOOKS 4096 /* at the stop flag */

/* An event, with its cause and its record behind it. */
struct entry {
	u64 end;
	const char *name;
	struct view_launch_stack stack;
	u32 row;
	u16 record_bytes; /* 0: there are more paths, of which comes what follows */
	u8 open, has_cause;
};

struct cause {
	u64 ts;
	u32 row, within_row;
};

/* The event before came at since_ns, the one with these paths at ts. */
struct paths {
	u64 since_ns, ts;
	u64 count;
};

struct view_kept {
	struct view *view;
	const struct view_kept_kind *kinds;
	struct spool spool;
	struct spool_store store;
	u64 ts; /* of the last event, and how many paths there were */
	size_t path_count;
	u64 limit_bytes; /* of what is kept */
	bool failed;
};

struct view_kept *view_kept_new(struct view *view, const struct view_kept_kind *kinds)
{
	struct view_kept *kept = calloc(1, sizeof(*kept));

	if (kept)
		*kept = (struct view_kept){.view = view,
					   .kinds = kinds,
					   .store = SPOOL_STORE_INIT,
					   .limit_bytes = ~0ULL};
	return kept;
}

void view_kept_free(struct view_kept *kept)
{
	if (!kept)
		return;
	spool_free(&kept->spool);
	spool_store_close(&kept->store);
	free(kept);
}

/* ---- keeping ---- */

/* Room is for others, then. */
static void fail(struct view_kept *kept)
{
	spool_free(&kept->spool);
	spool_store_close(&kept->store);
	kept->failed = true;
}

/* Once there is a file: others of the same run have to have room there, too, and can't do without. */
static u64 limit_of(const struct spool_store *store)
{
	struct statvfs status;

	if (store->fd < 0)
		return ~0ULL;
	return fstatvfs(store->fd, &status) ? 0
					    : (u64)status.f_bavail * status.f_frsize / FREE_SHARE;
}

/* NULL: there is none. */
static u8 *make_room(struct view_kept *kept, size_t size_bytes)
{
	struct err err;
	u8 *room = NULL;
	bool had_file = kept->store.fd >= 0;

	if (spool_reserve(&kept->spool, &kept->store, size_bytes, &room, &err))
		fail(kept);
	else if (!had_file)
		kept->limit_bytes = limit_of(&kept->store);
	if (!kept->failed && kept->spool.size_bytes > kept->limit_bytes)
		fail(kept);
	return kept->failed ? NULL : room;
}

static void put_paths(struct view_kept *kept, u64 ts, size_t count)
{
	const struct paths paths = {.since_ns = kept->ts, .ts = ts, .count = count};
	u8 *room = make_room(kept, sizeof(struct entry) + sizeof(paths));

	if (!room)
		return;
	memset(room, 0, sizeof(struct entry));
	memcpy(room + sizeof(struct entry), &paths, sizeof(paths));
}

static void put_event(struct view_kept *kept, const struct view_event *event, bool whole)
{
	const struct view_cause *of = event->cause;
	const struct entry entry = {
		.end = event->end,
		.name = event->name,
		.stack = event->stack,
		.row = (u32)event->row_index,
		.record_bytes = whole ? event->record->size_bytes : sizeof(*event->record),
		.open = event->open,
		.has_cause = of != NULL,
	};
	size_t cause_bytes = of ? sizeof(struct cause) : 0;
	u8 *room = make_room(kept, sizeof(entry) + cause_bytes + entry.record_bytes);
	struct record_header *record;

	if (!room)
		return;
	memcpy(room, &entry, sizeof(entry));
	if (of)
		memcpy(room + sizeof(entry),
		       &(struct cause){of->ts, (u32)of->row_index, (u32)of->within.row_index},
		       sizeof(struct cause));
	record = (void *)(room + sizeof(entry) + cause_bytes);
	memcpy(record, event->record, entry.record_bytes);
	record->size_bytes = entry.record_bytes;
}

void view_kept_add(struct view_kept *kept, const struct view_event *event)
{
	const struct view_kept_kind *kind = kept->kinds;
	size_t path_count = kept->view->paths.count;

	if (kept->failed)
		return;
	if (path_count != kept->path_count)
		put_paths(kept, event->ts, path_count);
	kept->ts = event->ts;
	kept->path_count = path_count;
	while (kind->kind && kind->kind != event->kind->number)
		kind++;
	if (kind->kind && !kept->failed)
		put_event(kept, event, kind->whole);
}

/* ---- giving ---- */

struct giving {
	struct view *view;
	const struct view_sink *sink;
	void *data;
	struct view_ends ends;
};

static int give(struct giving *giving, const struct view_event *event, struct err *err)
{
	const struct view_sink *sink = giving->sink;
	bool is_span = event->kind->shape == SHAPE_SPAN;
	int result = 0;

	if (is_span && sink->span)
		result = sink->span(giving->data, event, err);
	else if (!is_span && sink->point)
		result = sink->point(giving->data, event, err);
	if (result == 0 && is_span && sink->end &&
	    (!sink->end_kinds[0] || view_row_is_of(sink->end_kinds, event->kind->number)) &&
	    view_ends_push(&giving->ends, event))
		result = err_errno(err, -ENOMEM, "can't read the capture");
	return result;
}

static int give_ends(struct giving *giving, u64 ts, struct err *err)
{
	if (!giving->sink->end)
		return 0;
	return view_ends_flush(&giving->ends, ts, giving->sink, giving->data, err);
}

static int give_paths(struct giving *giving, struct spool_reader *reader, struct err *err)
{
	const void *bytes;
	int result = spool_next(reader, sizeof(struct paths), &bytes, err);
	struct paths paths;

	if (result < 0)
		return result;
	memcpy(&paths, bytes, sizeof(paths));
	result = give_ends(giving, paths.since_ns, err);
	giving->view->paths.count = paths.count;
	return result < 0 ? result : give_ends(giving, paths.ts, err);
}

static int give_event(struct giving *giving, struct spool_reader *reader, const struct entry *entry,
		      struct err *err)
{
	size_t cause_bytes = entry->has_cause ? sizeof(struct cause) : 0;
	const struct record_header *record;
	struct view_cause cause;
	struct view_event event;
	const void *bytes;
	int result = spool_next(reader, cause_bytes + entry->record_bytes, &bytes, err);

	if (result < 0)
		return result;
	record = (const void *)((const u8 *)bytes + cause_bytes);
	event = (struct view_event){
		.record = record,
		.kind = giving->view->kinds.kinds[record->kind].kind,
		.ts = record->ts,
		.dur = entry->end - record->ts,
		.end = entry->end,
		.open = entry->open,
		.name = entry->name,
		.row = &giving->view->rows.rows[entry->row],
		.row_index = entry->row,
		.stack = entry->stack,
	};
	if (entry->has_cause) {
		const struct cause *of = bytes;

		cause = (struct view_cause){.ts = of->ts,
					    .row_index = of->row,
					    .within = {.row_index = of->within_row}};
		event.cause = &cause;
	}
	result = give_ends(giving, event.ts, err);
	return result < 0 ? result : give(giving, &event, err);
}

/* 1, or 0 at the end. */
static int give_next(struct giving *giving, struct spool_reader *reader, struct err *err)
{
	const void *bytes;
	int result = spool_next(reader, sizeof(struct entry), &bytes, err);
	struct entry entry;

	if (result <= 0)
		return result < 0 ? result : give_ends(giving, ~0ULL, err);
	memcpy(&entry, bytes, sizeof(entry));
	result = entry.record_bytes ? give_event(giving, reader, &entry, err)
				    : give_paths(giving, reader, err);
	return result < 0 ? result : 1;
}

static int give_all(struct view_kept *kept, const struct view_part *part, struct err *err)
{
	struct giving giving = {.view = kept->view, .sink = part->sink, .data = part->data};
	struct spool_reader reader = {.spool = &kept->spool, .store = &kept->store};
	size_t path_count = kept->view->paths.count;
	u64 steps = 0;
	int result;

	kept->view->paths.count = 0;
	do {
		if (steps++ % EVENTS_BETWEEN_LOOKS == 0 && stop_requested())
			result = err_set(err, -EINTR, "interrupted");
		else
			result = give_next(&giving, &reader, err);
	} while (result > 0);
	kept->view->paths.count = path_count;
	view_ends_free(&giving.ends);
	spool_reader_free(&reader);
	return result;
}

static int give_part(struct view_kept *kept, const struct view_part *part, struct err *err)
{
	const struct view_sink *sink = part->sink;
	int result = 0;

	if (sink->open)
		result = sink->open(part->data, kept->view, &kept->view->survey, err);
	if (result >= 0)
		result = give_all(kept, part, err);
	if (result >= 0 && sink->close)
		result = sink->close(part->data, err);
	return result < 0 ? result : 0;
}

int view_kept_run(struct view_kept *kept, const struct view_part *parts, size_t count,
		  struct err *err)
{
	int result = 0;

	if (kept->failed && count)
		return view_run_together(kept->view, parts, count, err);
	for (size_t i = 0; i < count && result == 0; i++)
		result = give_part(kept, &parts[i], err);
	return result;
}
