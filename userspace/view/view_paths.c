/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths: what a thread was in at a moment, by name, the outermost first: user ranges and probed functions. Spans come in
 * time order; those of a thread that are open stand in a list, each with the number of its path, so that what happens in
 * it costs one look. Ranges may cross: one that is over goes from the middle too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "view/view_parts.h"

#define PATHS_MAX (1U << 20) /* what would be a new one then is what is around it */
#define NO_PATH	  0U

struct open_scope {
	u64 end;
	u64 first_end; /* the earliest of it and those around it: before that none of them is over */
	s64 name;      /* in the names */
	u16 kind;
	u32 domain;
	u32 path;
	u64 range; /* its number, of a function that of the range around it; 0: none */
};

struct path_row {
	struct open_scope *scopes; /* innermost last */
	size_t count, capacity;
};

static bool is_scope(u16 kind)
{
	return kind == KIND_range || kind == KIND_usdt_span || kind == KIND_call;
}

static u32 domain_of(const struct view_event *event)
{
	return event->kind->number == KIND_range
		       ? ((const struct record_range *)event->record)->domain
		       : 0;
}

/* The path of a scope in another path. */
static int find_path(struct view_paths *paths, u32 parent, const struct open_scope *scope,
		     u32 *ret_path)
{
	u64 outer = (u64)scope->domain << 32 | parent, key = (u64)scope->name << 16 | scope->kind;
	u64 *there = map_find(&paths->numbers, outer, key);

	if (there) {
		*ret_path = *there;
		return 0;
	}
	*ret_path = parent;
	if (paths->count == PATHS_MAX)
		return 0;
	if (array_reserve(&paths->paths, &paths->capacity, paths->count + 1) < 0 ||
	    map_set(&paths->numbers, outer, key, paths->count + 1) < 0)
		return -ENOMEM;
	paths->paths[paths->count++] = (struct view_path){parent, scope->kind, scope->domain,
							  paths->names.strings[scope->name], NULL};
	*ret_path = paths->count;
	return 0;
}

static u64 first_end(const struct path_row *row, size_t count, u64 end)
{
	if (!count || row->scopes[count - 1].first_end > end)
		return end;
	return row->scopes[count - 1].first_end;
}

static u64 range_at(const struct path_row *row, size_t count)
{
	return count ? row->scopes[count - 1].range : 0;
}

static u32 innermost(const struct path_row *row)
{
	return row->count ? row->scopes[row->count - 1].path : NO_PATH;
}

/* Drops what is over at ts; what stays inside of it is now inside of what was around it. */
static int drop_ended(struct view_paths *paths, struct path_row *row, u64 ts)
{
	bool is_moved = false;
	size_t kept = 0;
	int result = 0;

	while (row->count && row->scopes[row->count - 1].end <= ts)
		row->count--;
	if (!row->count || row->scopes[row->count - 1].first_end > ts)
		return 0;
	for (size_t i = 0; i < row->count && result == 0; i++) {
		struct open_scope scope = row->scopes[i];

		if (scope.end <= ts) {
			is_moved = true;
			continue;
		}
		if (is_moved)
			result = find_path(paths, kept ? row->scopes[kept - 1].path : NO_PATH,
					   &scope, &scope.path);
		scope.first_end = first_end(row, kept, scope.end);
		if (scope.kind == KIND_call)
			scope.range = range_at(row, kept);
		row->scopes[kept++] = scope;
	}
	row->count = kept;
	return result;
}

static int number_range(struct view_paths *paths, const struct path_row *row,
			struct open_scope *scope)
{
	scope->range = range_at(row, row->count);
	if (scope->kind == KIND_call)
		return 0;
	if (!paths->ranges)
		paths->ranges = calloc(PATH_RANGES_MAX, sizeof(*paths->ranges));
	if (!paths->ranges)
		return -ENOMEM;
	paths->range_count++;
	paths->ranges[paths->range_count % PATH_RANGES_MAX] = (struct view_range){
		paths->range_count, scope->range, paths->names.strings[scope->name]};
	scope->range = paths->range_count;
	return 0;
}

static int open_scope(struct view_paths *paths, struct path_row *row,
		      const struct view_event *event)
{
	struct open_scope scope = {
		.end = event->end,
		.first_end = first_end(row, row->count, event->end),
		.name = string_table_add(&paths->names, event->name, strlen(event->name)),
		.kind = event->kind->number,
		.domain = domain_of(event),
	};

	if (scope.name < 0 || find_path(paths, innermost(row), &scope, &scope.path) < 0 ||
	    array_reserve(&row->scopes, &row->capacity, row->count + 1) < 0 ||
	    number_range(paths, row, &scope) < 0)
		return -ENOMEM;
	row->scopes[row->count++] = scope;
	return 0;
}

int view_paths_add(struct view_paths *paths, const struct view_event *event, u32 *ret_path)
{
	struct path_row *row;
	int result;

	*ret_path = NO_PATH;
	if (event->kind->shape != SHAPE_SPAN || event->row->type != ROW_THREAD)
		return 0;
	if (event->row_index >= paths->row_count && !is_scope(event->kind->number))
		return 0;
	if (array_reserve(&paths->rows, &paths->row_capacity, event->row_index + 1) < 0)
		return -ENOMEM;
	while (paths->row_count <= event->row_index)
		paths->rows[paths->row_count++] = (struct path_row){0};
	row = &paths->rows[event->row_index];
	result = drop_ended(paths, row, event->ts);
	*ret_path = innermost(row);
	if (result == 0 && is_scope(event->kind->number))
		result = open_scope(paths, row, event);
	return result;
}

int view_paths_at(struct view_paths *paths, size_t row_index, u64 ts, u32 *ret_path)
{
	struct path_row *row = row_index < paths->row_count ? &paths->rows[row_index] : NULL;

	*ret_path = NO_PATH;
	if (!row)
		return 0;
	if (drop_ended(paths, row, ts) < 0)
		return -ENOMEM;
	*ret_path = innermost(row);
	return 0;
}

u64 view_paths_range(const struct view_paths *paths, size_t row_index)
{
	const struct path_row *row = row_index < paths->row_count ? &paths->rows[row_index] : NULL;

	return row ? range_at(row, row->count) : 0;
}

int view_paths_join(struct view_paths *paths, u32 outer, u32 inner, u32 *ret_path)
{
	struct view_path part;
	struct open_scope scope;

	*ret_path = outer;
	if (!inner)
		return 0;
	part = paths->paths[inner - 1];
	scope = (struct open_scope){
		.name = string_table_find(&paths->names, part.name, strlen(part.name)),
		.kind = part.kind,
		.domain = part.domain,
	};
	if (view_paths_join(paths, outer, part.parent, &outer) < 0)
		return -ENOMEM;
	return find_path(paths, outer, &scope, ret_path);
}

void view_paths_free(struct view_paths *paths)
{
	for (size_t i = 0; i < paths->row_count; i++)
		free(paths->rows[i].scopes);
	free(paths->rows);
	free(paths->paths);
	free(paths->ranges);
	map_free(&paths->numbers);
	string_table_free(&paths->names);
	*paths = (struct view_paths){0};
}

const struct view_path *view_path(const struct view *view, u32 path)
{
	return path && path <= view->paths.count ? &view->paths.paths[path - 1] : NULL;
}

const char *view_path_text(const struct view *view, u32 path)
{
	struct view_path *part =
		path && path <= view->paths.count ? &view->paths.paths[path - 1] : NULL;
	struct text text _cleanup_text_ = {0};

	if (!part || part->whole)
		return part ? part->whole : NULL;
	if (part->parent) {
		text_append(&text, view_path_text(view, part->parent) ?: "");
		text_append_char(&text, '/');
	}
	text_append(&text, part->name);
	if (!text.failed)
		part->whole = view_intern(view, text_string(&text), text.length);
	return part->whole;
}

const struct view_range *view_range(const struct view *view, u64 number)
{
	const struct view_range *range =
		view->paths.ranges ? &view->paths.ranges[number % PATH_RANGES_MAX] : NULL;

	return range && number && range->number == number ? range : NULL;
}
