/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "view/view_parts.h"

/* ---- keys ---- */

static u32 field_or_0(const struct schema_field *field, const struct record_header *record)
{
	return field ? schema_field_value(field, record, 0) : 0;
}

bool view_row_is_of_gpu(enum record_row type)
{
	return type == ROW_STREAM || type == ROW_SYNC || type == ROW_DEVICE;
}

/* A stream belongs to the session that numbered it, threads and processes to the host. */
static struct row_key row_key_of(const struct view_kind *kind, const struct record_header *record)
{
	enum record_row type = kind->kind->row;

	if (view_row_is_of_gpu(type))
		return (struct row_key){
			(u64)field_or_0(kind->device, record) << 32 |
				field_or_0(kind->stream, record),
			(u64)record->source << 8 | type,
		};
	return (struct row_key){
		(u64)record->pid << 32 | (type == ROW_THREAD ? record->tid : 0),
		type,
	};
}

static s64 row_add(struct view_rows *rows, struct row_key key, const struct view_row *row)
{
	if (array_reserve(&rows->rows, &rows->capacity, rows->count + 1) < 0 ||
	    array_reserve(&rows->keys, &rows->key_capacity, rows->count + 1) < 0 ||
	    map_set(&rows->index, key.a, key.b, rows->count) < 0)
		return -ENOMEM;
	rows->keys[rows->count] = key;
	rows->rows[rows->count] = *row;
	rows->rows[rows->count].name = rows->rows[rows->count].process_name = "";
	rows->rows[rows->count].lane_count = 1;
	return rows->count++;
}

static s64 row_add_of_record(struct view_rows *rows, struct row_key key,
			     const struct view_kind *kind, const struct record_header *record)
{
	enum record_row type = kind->kind->row;
	const struct view_row row = {
		.type = type,
		.pid = record->pid,
		.tid = type == ROW_THREAD ? record->tid : 0,
		.device = view_row_is_of_gpu(type) ? field_or_0(kind->device, record) : 0,
		.stream = view_row_is_of_gpu(type) ? field_or_0(kind->stream, record) : 0,
		.source = record->source,
	};

	return row_add(rows, key, &row);
}

s64 view_rows_find_device(struct view_rows *rows, u32 source, u32 pid, u32 device, bool add)
{
	const struct row_key key = {(u64)device << 32, (u64)source << 8 | ROW_DEVICE};
	const struct view_row row = {
		.type = ROW_DEVICE, .pid = pid, .device = device, .source = source};
	u64 *found = map_find(&rows->index, key.a, key.b);

	if (found)
		return *found;
	return add ? row_add(rows, key, &row) : -ENOENT;
}

s64 view_rows_find(struct view_rows *rows, const struct view_kind *kind,
		   const struct record_header *record, bool add)
{
	struct row_key key = row_key_of(kind, record);
	struct row_cache_entry *cached =
		&rows->cache[(key.a ^ key.a >> 32 ^ key.b) % ROW_CACHE_SIZE];
	u64 *found;
	s64 place;

	if (cached->place_plus_1 && cached->key.a == key.a && cached->key.b == key.b)
		return cached->place_plus_1 - 1;
	found = map_find(&rows->index, key.a, key.b);
	if (found)
		place = *found;
	else if (add)
		place = row_add_of_record(rows, key, kind, record);
	else
		return -ENOENT;
	if (place < 0)
		return place;
	*cached = (struct row_cache_entry){key, place + 1};
	return place;
}

/* ---- names and order ---- */

static const char *row_number_name(const struct view *view, u32 number)
{
	char digits[16];

	return view_intern(view, digits, snprintf(digits, sizeof(digits), "%u", number));
}

/* The number that other tools show too; what a stream or GPU without one is told apart by. */
static u32 number_of_fact(const struct view *view, u16 kind, u32 id)
{
	const struct record_header *fact = view_fact(view, kind, id);
	const struct schema_field *field =
		schema_field(schema_kind(kind), SCHEMA_FIELD(device, number));

	if (fact && field && !view_field_absent(field, fact))
		return schema_field_value(field, fact, 0);
	return id;
}

static const char *stream_name(const struct view *view, const struct view_row *row)
{
	const struct record_header *fact = view_fact(view, KIND_stream, row->stream);
	const char *own = fact ? view_text(view, fact->name) : NULL;
	struct text name _cleanup_text_ = {0};

	if (!row->stream)
		text_append(&name, row->type == ROW_SYNC ? "all streams" : "no stream");
	else if (own)
		text_append(&name, own);
	else
		text_appendf(&name, "stream %u", row->stream_number);
	if (row->type == ROW_SYNC)
		text_append(&name, " (sync)");
	return name.failed ? NULL : view_intern(view, name.data, name.length);
}

const char *view_device_name(const struct view *view, u32 device)
{
	const struct record_device *fact =
		(const struct record_device *)view_fact(view, KIND_device, device);
	const char *model = fact ? view_text(view, fact->header.name) : NULL;
	struct text name _cleanup_text_ = {0};

	text_append(&name, "GPU");
	if (fact && fact->number != ~0U)
		text_appendf(&name, " %u%s", fact->number, model ? ":" : "");
	if (model)
		text_appendf(&name, " %s", model);
	return name.failed ? NULL : view_intern(view, name.data, name.length);
}

bool view_is_same_gpu(const struct record_header *device, const struct record_header *other)
{
	static const u8 unknown[sizeof(((struct record_device *)0)->uuid)];
	const struct record_device *a = (const struct record_device *)device;
	const struct record_device *b = (const struct record_device *)other;

	return a && b && memcmp(a->uuid, unknown, sizeof(unknown)) != 0 &&
	       memcmp(a->uuid, b->uuid, sizeof(unknown)) == 0;
}

const struct record_gpu_at_attach *view_gpu_at_attach(const struct view *view, u32 device)
{
	size_t count;
	const struct record_header *const *facts = view_facts(view, KIND_gpu_at_attach, &count);

	for (size_t i = 0; i < count; i++) {
		const struct record_gpu_at_attach *fact =
			(const struct record_gpu_at_attach *)facts[i];

		if (fact && fact->device == device)
			return fact;
	}
	return NULL;
}

static const char *thread_name(const struct view *view, const struct view_row *row)
{
	const char *name = view_task_name(view, row->pid, row->tid);

	return name ? name : row_number_name(view, row->tid);
}

static const char *process_name(const struct view *view, const struct view_row *row)
{
	return *row->process_name ? row->process_name : row_number_name(view, row->pid);
}

static const char *device_name(const struct view *view, const struct view_row *row)
{
	return view_device_name(view, row->device);
}

static int row_name(struct view *view, struct view_row *row)
{
	static const char *(*const names[])(const struct view *view, const struct view_row *row) = {
		[ROW_NONE] = process_name,  [ROW_PROCESS] = process_name,
		[ROW_THREAD] = thread_name, [ROW_STREAM] = stream_name,
		[ROW_SYNC] = stream_name,   [ROW_DEVICE] = device_name,
	};

	row->process_name = view_process_name(view, row->pid);
	row->device_number = number_of_fact(view, KIND_device, row->device);
	row->stream_number = number_of_fact(view, KIND_stream, row->stream);
	row->name = names[row->type](view, row);
	return row->name ? 0 : -ENOMEM;
}

#define COMPARE(a, b)                              \
	do {                                       \
		if ((a) != (b))                    \
			return (a) < (b) ? -1 : 1; \
	} while (0)

/* Within a process: its own row, then its threads, then its GPUs. */
static int row_rank(const struct view_row *row)
{
	return row->type == ROW_THREAD ? 1 : view_row_is_of_gpu(row->type) ? 2 : 0;
}

/* Within a GPU: its own row, then its streams, the waits for a stream below it. */
static int row_rank_in_device(const struct view_row *row)
{
	return row->type == ROW_SYNC ? 2 : row->type == ROW_STREAM ? 1 : 0;
}

struct keyed_row {
	struct view_row row;
	struct row_key key;
};

static int compare_rows(const void *first, const void *second)
{
	const struct view_row *a = &((const struct keyed_row *)first)->row;
	const struct view_row *b = &((const struct keyed_row *)second)->row;

	COMPARE(a->pid, b->pid);
	COMPARE(row_rank(a), row_rank(b));
	COMPARE(b->tid == b->pid, a->tid == a->pid);
	COMPARE(a->tid, b->tid);
	COMPARE(a->source, b->source);
	COMPARE(a->device_number, b->device_number);
	COMPARE(a->device, b->device);
	COMPARE(a->type != ROW_DEVICE, b->type != ROW_DEVICE);
	COMPARE(a->stream_number, b->stream_number);
	COMPARE(a->stream, b->stream);
	COMPARE(row_rank_in_device(a), row_rank_in_device(b));
	return 0;
}

int view_rows_finish(struct view *view)
{
	struct view_rows *rows = &view->rows;
	struct keyed_row *sorted _cleanup_free_ = calloc(rows->count + 1, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < rows->count; i++) {
		int result = row_name(view, &rows->rows[i]);

		if (result < 0)
			return result;
		sorted[i] = (struct keyed_row){rows->rows[i], rows->keys[i]};
	}
	qsort(sorted, rows->count, sizeof(*sorted), compare_rows);
	memset(rows->cache, 0, sizeof(rows->cache));
	for (size_t i = 0; i < rows->count; i++) {
		rows->rows[i] = sorted[i].row;
		rows->keys[i] = sorted[i].key;
		/* Only replaces what is there. */
		if (map_set(&rows->index, sorted[i].key.a, sorted[i].key.b, i) < 0)
			return -ENOMEM;
	}
	return 0;
}

void view_rows_free(struct view_rows *rows)
{
	free(rows->rows);
	free(rows->keys);
	map_free(&rows->index);
}
