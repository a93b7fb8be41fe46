/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What stands in the columns of nsys_tables.def: an event bound to the statement that inserts it. Names are numbers of
 * StringIds, domains of NVTX numbers of ours; both are written when all events are.
 */
#ifndef GPUPROBE_EXPORTERS_NSYS_NSYS_VALUES_H
#define GPUPROBE_EXPORTERS_NSYS_NSYS_VALUES_H

#include <sqlite3.h>

#include "exporters/nsys/nsys_lists.h"
#include "exporters/nsys/nsys_tables.h"

#define NSYS_ENUM_MAX 32 /* values of an enum of ours */

/* A column, made ready for a view. */
struct nsys_bound_column {
	const struct nsys_column *column;
	const struct view_key *key;	   /* NSYS_KEY */
	int element;			   /* of an array; -1: it is none */
	const struct schema_field *field;  /* NSYS_ENUM, NSYS_DOMAIN; of a category its name */
	const struct schema_field *domain; /* NSYS_CATEGORY */
	s64 numbers[NSYS_ENUM_MAX];	   /* of its values */
};

/* Which calls of a thread lie in which: when those end that are open. */
#define NSYS_NESTING_MAX 64
struct nsys_nesting {
	u64 ends[NSYS_NESTING_MAX];
	u32 depth;
};

struct nsys_values {
	const struct view *view;
	u64 start_ns;
	struct string_table strings; /* number + 1 is the id in StringIds */
	struct nsys_list lists[NSYS_LISTS];
	struct map thread_numbers; /* (pid, tid) -> place in threads */
	struct nsys_nesting *threads;
	size_t thread_count, thread_capacity;
	u64 last_number;
};

/* ret_columns: as many as the table has. -EINVAL names a key that the kind has not. */
int nsys_values_prepare(const struct nsys_values *values, const struct nsys_table *table,
			struct nsys_bound_column **ret_columns, struct err *err);
/* 0 or -ENOMEM. Texts are valid until the statement has run. */
int nsys_values_bind(struct nsys_values *values, const struct nsys_table *table,
		     const struct nsys_bound_column *columns, const struct view_event *event,
		     sqlite3_stmt *statement);
/* The id of a name in StringIds; 0 without memory. */
u64 nsys_values_string(struct nsys_values *values, const char *string);
/* The ids of the name of a frame and of its file. */
u64 nsys_values_frame(struct nsys_values *values, const struct view_frame *frame, u64 *ret_module);
void nsys_values_free(struct nsys_values *values);

#endif
