/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/xplane/xplane_ops.h"

#include <string.h>

#include "base/array.h"
#include "steps/step_name.h"

#define DEPTH_MAX 32

/* The innermost part tells the type: of ranges all are one, of functions each is its own. */
static const struct {
	u16 kinds[VIEW_ROW_KINDS_MAX];
	const char *type; /* NULL: the part itself, with a capital */
} types[] = {
	{{KIND_range, KIND_usdt_span}, "Range"},
	{{KIND_call}, NULL},
};

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* ---- one part ---- */

/* Where a function's name ends: in front of its template arguments or parameters. */
static size_t function_length(const char *name)
{
	size_t length = strcspn(name, "<(");

	/* "operator<", "(anonymous namespace)::f", "<lambda>": as they are. */
	return length ? length : strlen(name);
}

static void append_character(struct text *text, char c)
{
	bool is_first = !text->length || text->data[text->length - 1] == '/';

	if (!is_letter(c) && !is_digit(c) && (is_first || !strchr("_-./", c)))
		c = '_';
	/* A part begins with a letter or a digit, and none is empty. */
	if (is_first && !is_letter(c) && !is_digit(c))
		return;
	text_append_char(text, c);
}

void xplane_op_append_part(struct text *text, const char *name)
{
	size_t before = text->length, length = step_name_without_count(name, function_length(name));

	for (size_t i = 0; i < length && text->length - before < XPLANE_OP_BYTES_MAX; i++) {
		if (name[i] == ':' && i + 1 < length && name[i + 1] == ':') {
			append_character(text, '.');
			i++;
		} else {
			append_character(text, name[i]);
		}
	}
	if (text->length == before)
		text_append(text, "unnamed");
}

/* ---- the whole ---- */

static void append_type(struct text *text, const char *part, u16 kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (view_row_is_of(types[i].kinds, kind) && types[i].type) {
			text_append(text, types[i].type);
			return;
		}
	/* A capital, else it would have to be all lower case. */
	if (is_digit(*part))
		text_append_char(text, 'F');
	for (const char *at = part; *at && *at != ':'; at++) {
		char c = is_letter(*at) || is_digit(*at) ? *at : '_';

		text_append_char(text, at == part && c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
	}
}

static void make(const struct view *view, u32 number, const char *name, struct text *ret_op)
{
	const struct view_path *parts[DEPTH_MAX], *path = view_path(view, number);
	struct text part _cleanup_text_ = {0};
	size_t count = 0;
	u16 kind;

	for (; path && count < DEPTH_MAX; path = view_path(view, path->parent))
		parts[count++] = path;
	kind = count ? parts[0]->kind : 0;
	for (size_t i = count; i-- > 0 && ret_op->length < XPLANE_OP_BYTES_MAX;) {
		xplane_op_append_part(ret_op, parts[i]->name);
		text_append(ret_op, i ? "/" : "");
	}
	if (!count)
		xplane_op_append_part(ret_op, name);
	xplane_op_append_part(&part, count ? parts[0]->name : name);
	text_append_char(ret_op, ':');
	append_type(ret_op, text_string(&part), kind);
}

static const char *find(struct xplane_ops *ops, const struct view *view, u32 path, const char *name)
{
	/* The name does not matter where there is a path. */
	s64 number = path ? 0 : string_table_add(&ops->names, name, strlen(name)) + 1;
	u64 *there = map_find(&ops->numbers, path, number);
	struct text op _cleanup_text_ = {0};
	s64 place;

	if (there)
		return ops->ops.strings[*there];
	if (number < 0 || (!path && !number))
		return NULL;
	make(view, path, name, &op);
	place = op.failed ? -1 : string_table_add(&ops->ops, op.data, op.length);
	if (place < 0 || map_set(&ops->numbers, path, number, place) < 0)
		return NULL;
	return ops->ops.strings[place];
}

/* Names of a view stay where they are. */
const char *xplane_ops_of(struct xplane_ops *ops, const struct view *view,
			  const struct view_event *event, const char *short_name)
{
	u32 path = event->cause ? event->cause->within.path : 0;
	const char *name = short_name ?: event->cause ? event->cause->name : event->name;
	u64 address = (uintptr_t)name;
	size_t place = (address ^ address >> 9 ^ path) % XPLANE_OPS_LAST;

	if (ops->last[place].op && ops->last[place].name == name && ops->last[place].path == path)
		return ops->last[place].op;
	ops->last[place].op = find(ops, view, path, name);
	ops->last[place].name = name;
	ops->last[place].path = path;
	return ops->last[place].op;
}

void xplane_ops_free(struct xplane_ops *ops)
{
	map_free(&ops->numbers);
	string_table_free(&ops->ops);
	string_table_free(&ops->names);
}
