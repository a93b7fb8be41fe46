/*
 * What stands in the columns of nsys_tables.def: an event bound to the statement that inserts it. Names are numbers of
 * StringIds, domains of NVTX numbers of ours; both are written when all events are.
 */
#ifndef GPUPROBE_EXPORTERS_NSYS_VALUES_H
#define GPUPROBE_EXPORTERS_NSYS_VALUES_H

#include <sqlite3.h>

#include "base/map.h"
#include "exporters/nsys_tables.h"

#define NSYS_ENUM_MAX 32 /* values of an enum of ours */

/* A column, made ready for a view. */
struct nsys_bound_column {
	const struct nsys_column *column;
	const struct view_key *key; /* NSYS_KEY */
	int element; /* of an array; -1: it is none */
	const struct schema_field *field; /* NSYS_ENUM */
	s64 numbers[NSYS_ENUM_MAX]; /* of its values */
};

/* A domain of NVTX of a process. */
struct nsys_domain {
	u32 pid, tid;
	const char *name;
};

struct nsys_values {
	const struct view *view;
	u64 start_ns;
	struct string_table strings; /* number + 1 is the id in StringIds */
	struct map domain_numbers; /* (pid, name) -> place in domains, plus 1 */
	struct nsys_domain *domains;
	size_t domain_count, domain_capacity;
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
void nsys_values_free(struct nsys_values *values);

#endif
