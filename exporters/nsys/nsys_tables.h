/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of events in an SQLite export of Nsight Systems: nsys_tables.def at run time. What a row holds is bound by
 * nsys_values.h.
 */
#ifndef GPUPROBE_EXPORTERS_NSYS_NSYS_TABLES_H
#define GPUPROBE_EXPORTERS_NSYS_NSYS_TABLES_H

#include "base/text.h"
#include "nsight/nsys_numbers.h"
#include "view/view.h"

enum nsys_source {
	NSYS_START,
	NSYS_END,
	NSYS_KNOWN_END,
	NSYS_THREAD,
	NSYS_PROCESS,
	NSYS_KEY,
	NSYS_NAME,
	NSYS_TEXT_NAME,
	NSYS_SHORT_NAME,
	NSYS_SYMBOL,
	NSYS_ENUM,
	NSYS_DOMAIN,
	NSYS_CATEGORY,
	NSYS_CUDA_STACK,
	NSYS_OS_RUNTIME_STACK,
	NSYS_SAMPLE_STACK,
	NSYS_NESTING,
	NSYS_FRAME,
	NSYS_FRAME_FILE,
	NSYS_FRAME_ADDRESS,
	NSYS_NUMBER,
	NSYS_CONSTANT,
};

enum nsys_type { NSYS_INTEGER, NSYS_NEEDED, NSYS_REAL, NSYS_TEXT };

struct nsys_column {
	const char *name;
	enum nsys_type type;
	enum nsys_source source;
	const char *key;
	s64 other;
};

struct nsys_table {
	const char *name;
	u16 kind;
	bool (*wants)(const struct view *view, const struct view_event *event); /* NULL: all */
	const struct nsys_column *columns;
	size_t column_count;
};

const struct nsys_table *nsys_tables(size_t *ret_count);

/* "CREATE TABLE ..." and "INSERT INTO ... VALUES (?,...)". */
void nsys_table_append_create(const struct nsys_table *table, struct text *text);
void nsys_table_append_insert(const struct nsys_table *table, struct text *text);

#endif
