#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "view/view_internal.h"

/* ---- keys ---- */

static u32 field_or_0(const struct schema_field *field, const struct record_header *record)
{
	return field ? schema_field_value(field, record, 0) : 0;
}

static bool is_of_stream(enum record_row type)
{
	return type == ROW_STREAM || type == ROW_SYNC;
}

/* A stream belongs to the session that numbered it, threads and processes to the host. */
static struct row_key row_key_of(const struct view_kind *kind, const struct record_header *record)
{
	enum record_row type = kind->kind->row;

	if (is_of_stream(type))
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

static s64 row_add(struct view_rows *rows, struct row_key key, const struct view_kind *kind,
		   const struct record_header *record)
{
	enum record_row type = kind->kind->row;

	if (array_reserve(&rows->rows, &rows->capacity, rows->count + 1) < 0 ||
	    array_reserve(&rows->keys, &rows->key_capacity, rows->count + 1) < 0 ||
	    map_set(&rows->index, key.a, key.b, rows->count) < 0)
		return -ENOMEM;
	rows->keys[rows->count] = key;
	rows->rows[rows->count++] = (struct view_row){
		.type = type,
		.pid = record->pid,
		.tid = type == ROW_THREAD ? record->tid : 0,
		.device = is_of_stream(type) ? field_or_0(kind->device, record) : 0,
		.stream = is_of_stream(type) ? field_or_0(kind->stream, record) : 0,
		.source = record->source,
		.name = "",
		.process_name = "",
		.lane_count = 1,
	};
	return rows->count - 1;
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
		place = row_add(rows, key, kind, record);
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

static int row_name(struct view *view, struct view_row *row)
{
	const char *label;

	row->process_name = view_process_name(view, row->pid);
	switch (row->type) {
	case ROW_THREAD:
		row->name = view_task_name(view, row->pid, row->tid);
		if (!row->name)
			row->name = row_number_name(view, row->tid);
		break;
	case ROW_STREAM:
		label = view_label(view, KIND_stream, row->stream);
		row->name = label ? label : "";
		break;
	default:
		row->name =
			*row->process_name ? row->process_name : row_number_name(view, row->pid);
		break;
	}
	return row->name ? 0 : -ENOMEM;
}

#define COMPARE(a, b)                              \
	do {                                       \
		if ((a) != (b))                    \
			return (a) < (b) ? -1 : 1; \
	} while (0)

/* Within a process: its own row, then its threads, then its streams. */
static int row_rank(const struct view_row *row)
{
	return row->type == ROW_THREAD ? 1 : row->type == ROW_STREAM ? 2 : 0;
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
	COMPARE(a->device, b->device);
	COMPARE(a->stream, b->stream);
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
