/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a Chrome trace says of an event besides its name and times: its category and its args, by tables with
 * the words of Kineto (PyTorch's profiler), which other programs look for. */
#ifndef GPUPROBE_EXPORTERS_CHROME_CHROME_ARGS_H
#define GPUPROBE_EXPORTERS_CHROME_CHROME_ARGS_H

#include "base/err.h"
#include "base/text.h"
#include "view/view.h"

struct chrome_kind;

struct chrome_args {
	const struct view *view;
	struct chrome_kind *kinds; /* by their place in schema_kinds() */
	size_t kind_count;
};

/* One of the args of some kinds. */
struct chrome_arg_row {
	u16 kinds[VIEW_ROW_KINDS_MAX];
	const char *key;    /* of view_key() */
	const char *name;   /* in the args; "object>name": within an object, whose rows stand together */
	const char *unless; /* this value goes without saying; NULL: none does */
};

/* Events of a kind belong to the first category that fits; to the kind's tag where none does. */
struct chrome_category_row {
	u16 kinds[VIEW_ROW_KINDS_MAX];
	const char *key;   /* NULL: all of the kind */
	const char *value; /* of that key */
	const char *category;
};

/* Without a row in any table; chrome_args_add() does the rest. */
int chrome_args_begin(struct chrome_args *args, const struct view *view, struct err *err);
/* Looks the tables up in the view. Zero-initialise; chrome_args_free() after a failure too. */
int chrome_args_find(struct chrome_args *args, const struct view *view, struct err *err);
/* Add a row to them; they outlive it. -EINVAL names a key or a value that a kind has not. */
int chrome_args_add(struct chrome_args *args, const struct chrome_arg_row *row, struct err *err);
int chrome_args_add_category(struct chrome_args *args, const struct chrome_category_row *row, struct err *err);
void chrome_args_free(struct chrome_args *args);

/* A stream that waits for an event: the time of its record is that of the call, which is drawn on its thread. Readers would take it for
 * computing. */
bool chrome_takes_no_time(const struct view_event *event);
/* Some sums are so many at one moment that a viewer piles them up to a wall: the reports growth and threads have them. */
bool chrome_total_is_drawn(const struct view_event *event);

const char *chrome_args_category(const struct chrome_args *args, const struct view_event *event);
/* ,"loc":"/srv/app/train.py:12","args":{...}; nothing when there are none. */
void chrome_args_append(const struct chrome_args *args, const struct view_event *event,
			struct text *text);
/* The args that do not go without saying, one after the other, by the names of their rows: *place begins with 0. NULL: there is none
 * any more. */
const char *chrome_args_next(const struct chrome_args *args, const struct view_event *event,
			     size_t *place, struct view_value *ret_value);
void chrome_args_append_value(struct text *text, const struct view_value *value);

#endif
