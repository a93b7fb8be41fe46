/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/folded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/path.h"
#include "exporters/writer.h"

/* What can be summed by stack: the events, and the value of each. */
static const struct folded_value {
	const char *name; /* in the name of the output */
	u16 kind; /* 0: all that have time of threads: view_wall_pieces(); KIND_launch_stack: work of GPUs */
	const char *
		key; /* of view_key(); NULL: its duration in ns, of what is open to the end of the window */
} folded_values[] = {
	{"off-cpu", KIND_off_cpu, NULL},
	{"growth", KIND_growth, "faulted_bytes"},
	{"mapped", KIND_growth, "mapped_bytes"},
	{"allocated", KIND_heap_stack, "bytes"},
	{"live", KIND_heap_stack, "live_bytes"},
	{"cpu", KIND_sample, "weight_ns"},
	{"wall", 0, NULL},
	{"gpu", KIND_launch_stack, NULL},
	{"launches", KIND_launch_stack, NULL},
};

struct line {
	u64 value;
	char *text; /* in strings */
};

struct folded {
	struct writer writer;
	const struct view *view;
	const struct folded_value *value; /* NULL: not chosen yet */
	const struct view_key *key;
	struct string_table strings;
	struct map by_stack; /* (row and name, stack) -> place in lines */
	const struct view_survey *survey;
	struct string_table names; /* of work of GPUs */
	struct line *lines;	   /* by number of their string */
	size_t count, capacity;
};

/* ---- lines ---- */

/* A ';' would begin another function. */
static void append_part(struct text *text, const char *name)
{
	size_t start = text->length;

	text_append_terminal(text, name, strlen(name));
	for (size_t i = start; i < text->length; i++)
		if (text->data[i] == ';')
			text->data[i] = ':';
	text_append_char(text, ';');
}

static void append_stack(const struct view *view, u32 pid, u32 stack,
			 void (*append)(const struct view_frame *frame, struct text *text),
			 struct text *text)
{
	_cleanup_text_ struct text name = {0};
	const struct view_frame *frames;
	const char *cut;
	size_t count = view_frames(view, pid, stack, &frames, &cut);

	if (cut)
		text_appendf(text, "%s;", cut);
	for (size_t i = count; i > 0; i--) {
		text_clear(&name);
		append(&frames[i - 1], &name);
		append_part(text, text_string(&name));
	}
}

static int line_add(struct folded *folded, const struct text *text, u64 *ret_place)
{
	s64 number;

	if (text->failed)
		return -ENOMEM;
	/* Without the last separator. */
	number = string_table_add(&folded->strings, text->data, text->length - 1);
	if (number < 0 || array_reserve(&folded->lines, &folded->capacity, (size_t)number + 1))
		return -ENOMEM;
	if ((size_t)number == folded->count)
		folded->lines[folded->count++] =
			(struct line){.text = folded->strings.strings[number]};
	*ret_place = number;
	return 0;
}

/* piece: of the event's time; NULL: the event as a whole. */
static int line_make(struct folded *folded, const struct view_event *event,
		     const struct view_wall_piece *piece, u64 *ret_place)
{
	_cleanup_text_ struct text text = {0};
	_cleanup_text_ struct text name = {0};

	append_part(&text, event->row->process_name);
	append_part(&text, event->row->name);
	if (!piece || !piece->why)
		append_stack(folded->view, event->record->pid, event->record->stack,
			     view_frame_append_name, &text);
	/* Without one of its own it would be that of its kind, which says nothing here. */
	if (event->record->name) {
		text_appendf(&name, "[%s]", event->name);
		append_part(&text, text_string(&name));
	}
	if (piece && piece->why)
		append_part(&text, piece->why);
	if (piece) {
		text_clear(&name);
		text_appendf(&name, "[%s]", view_wall_word(piece->state));
		append_part(&text, text_string(&name));
	}
	return name.failed ? -ENOMEM : line_add(folded, &text, ret_place);
}

/* All of the time of threads. */
static int folded_time(struct folded *folded, const struct view_event *event, struct err *err)
{
	struct view_wall_piece pieces[VIEW_WALL_PIECES_MAX];
	size_t count = view_wall_pieces(folded->view, event, pieces);

	for (size_t i = 0; i < count; i++) {
		u64 row = (u64)event->row_index << 32 | event->record->name, *known, place;
		/* What has no stack is one of few constant strings. */
		u64 what = ((u64)(uintptr_t)pieces[i].why << 32 | event->record->stack) *
				   VIEW_WALL_STATES +
			   pieces[i].state;

		/* No flame is as long as -1. */
		if (pieces[i].state == VIEW_WALL_BEYOND)
			continue;
		known = map_find(&folded->by_stack, row, what);
		if (!known) {
			if (line_make(folded, event, &pieces[i], &place) ||
			    map_set(&folded->by_stack, row, what, place))
				return err_errno(err, -ENOMEM, "can't write %s",
						 folded->writer.path);
			known = &place;
		}
		folded->lines[*known].value += pieces[i].ns;
	}
	return 0;
}

/* ---- work of GPUs, by the code that launched it ---- */

/* row: of who launched it; NULL: not known. */
static int launched_line(struct folded *folded, const struct view_event *event,
			 const struct view_row *row, u64 *ret_place)
{
	struct view_launch_part parts[VIEW_LAUNCH_PARTS_MAX];
	size_t count = view_launch_parts(folded->view, event, parts, NULL);
	_cleanup_text_ struct text text = {0};

	if (row) {
		append_part(&text, row->process_name);
		append_part(&text, row->name);
	}
	for (size_t i = 0; i < count; i++)
		if (parts[i].name)
			append_part(&text, parts[i].name);
		else
			append_stack(folded->view, parts[i].pid, parts[i].stack,
				     view_frame_append_call, &text);
	return line_add(folded, &text, ret_place);
}

/* A call that launched something, or work of a GPU. */
static int add_launched(struct folded *folded, const struct view_event *event, u64 value)
{
	bool is_call = event->kind->number == KIND_api;
	const struct view_cause *cause = event->cause;
	u32 stack = is_call ? event->stack.stack : cause ? cause->stack.stack : 0;
	u32 waiter = !is_call && cause ? cause->within.waiter_stack : 0;
	size_t row = is_call ? event->row_index : cause ? cause->row_index : 0;
	bool has_row = is_call || cause;
	/* The innermost function of a call's stack says what it is. */
	const char *string = is_call && stack ? "" : event->name;
	s64 name = string_table_add(&folded->names, string, strlen(string));
	u64 who = (u64)(has_row ? row + 1 : 0) << 32 | (u64)name,
	    stacks = (u64)waiter << 32 | stack;
	const u64 *known = name < 0 ? NULL : map_find(&folded->by_stack, who, stacks);
	u64 place = known ? *known : 0;

	if (name < 0)
		return -ENOMEM;
	if (!known &&
	    (launched_line(folded, event, has_row ? &folded->survey->rows[row] : NULL, &place) ||
	     map_set(&folded->by_stack, who, stacks, place)))
		return -ENOMEM;
	folded->lines[place].value += value;
	return 0;
}

static int folded_launch(struct folded *folded, const struct view_event *event)
{
	if (event->kind->number != KIND_api || event->inner_call || !event->effect_count)
		return 0;
	return add_launched(folded, event, 1);
}

static int folded_work(struct folded *folded, const struct view_event *event)
{
	static const u16 work[VIEW_ROW_KINDS_MAX] = {VIEW_GPU_WORK};

	if (!view_row_is_of(work, event->kind->number) || event->row->type != ROW_STREAM)
		return 0;
	return add_launched(folded, event, event->dur);
}

static int folded_event(void *data, const struct view_event *event, struct err *err)
{
	struct folded *folded = data;
	u64 row = (u64)event->row_index << 32 | event->record->name, *known, place;
	struct view_value value = {.type = VALUE_U64, .number = event->dur};

	if (folded->value && !folded->value->kind)
		return folded_time(folded, event, err);
	if (folded->value && folded->value->kind == KIND_launch_stack) {
		bool counts = !strcmp(folded->value->name, "launches");

		return (counts ? folded_launch(folded, event) : folded_work(folded, event))
			       ? err_errno(err, -ENOMEM, "can't write %s", folded->writer.path)
			       : 0;
	}
	if (!folded->value || event->kind->number != folded->value->kind)
		return 0;
	if (folded->key)
		value = view_value(folded->view, folded->key, event);
	if (value.type != VALUE_U64)
		return 0;
	known = map_find(&folded->by_stack, row, event->record->stack);
	if (!known) {
		if (line_make(folded, event, NULL, &place) ||
		    map_set(&folded->by_stack, row, event->record->stack, place))
			return err_errno(err, -ENOMEM, "can't write %s", folded->writer.path);
		known = &place;
	}
	folded->lines[*known].value += value.number;
	return 0;
}

/* ---- beginning and end ---- */

/* The word before ".folded": "x.off-cpu.folded". */
static const struct folded_value *value_named(const char *path)
{
	const char *base = path_base_name(path), *end = strstr(base, ".folded");

	for (size_t i = 0; end && i < ARRAY_SIZE(folded_values); i++) {
		size_t length = strlen(folded_values[i].name);

		if ((size_t)(end - base) > length && end[-(ptrdiff_t)length - 1] == '.' &&
		    !strncmp(end - length, folded_values[i].name, length))
			return &folded_values[i];
	}
	return NULL;
}

static int folded_open(void *data, const struct view *view, const struct view_survey *survey,
		       struct err *err)
{
	struct folded *folded = data;
	int result = 0;

	folded->survey = survey;
	folded->view = view;
	folded->value = value_named(folded->writer.path);
	for (size_t i = 0; !folded->value && i < ARRAY_SIZE(folded_values); i++)
		if (folded_values[i].kind && view_kind_count(view, folded_values[i].kind))
			folded->value = &folded_values[i];
	for (size_t i = 0; i < ARRAY_SIZE(folded_values) && result == 0; i++) {
		const struct folded_value *value = &folded_values[i];
		const struct view_key *key = NULL;

		if (value->key)
			result = view_key(view, "folded", schema_kind(value->kind), value->key,
					  &key, err);
		if (value == folded->value)
			folded->key = key;
	}
	return result;
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

static int folded_close(void *data, struct err *err)
{
	struct folded *folded = data;
	int result = 0;

	if (folded->count)
		qsort(folded->lines, folded->count, sizeof(*folded->lines), compare_lines);
	for (size_t i = 0; i < folded->count && !result; i++) {
		const struct line *line = &folded->lines[i];

		if (line->value)
			text_appendf(&folded->writer.text, "%s %llu\n", line->text,
				     (unsigned long long)line->value);
		result = writer_flush(&folded->writer, err);
	}
	return result;
}

const struct view_sink folded_sink = {
	.open = folded_open,
	.span = folded_event,
	.point = folded_event,
	.total = folded_event,
	.close = folded_close,
};

int folded_create(const char *path, bool gzip, void **ret_data, struct err *err)
{
	struct folded *folded _cleanup_free_ = calloc(1, sizeof(*folded));
	int result;

	if (!folded)
		return err_set(err, -ENOMEM, "can't write %s: out of memory", path);
	result = writer_create(&folded->writer, path, gzip, err);
	if (result < 0)
		return result;
	*ret_data = take_pointer(&folded);
	return 0;
}

int folded_finish(void *data, bool commit, u64 *ret_size_bytes, struct err *err)
{
	struct folded *folded = data;
	int result = writer_finish(&folded->writer, commit, ret_size_bytes, err);

	string_table_free(&folded->strings);
	string_table_free(&folded->names);
	map_free(&folded->by_stack);
	free(folded->lines);
	free(folded);
	return result;
}
