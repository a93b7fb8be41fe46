/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of the tables of nsys_tables.def as records. Only for import/nsys*.c. */
#ifndef GPUPROBE_IMPORT_NSYS_ROWS_H
#define GPUPROBE_IMPORT_NSYS_ROWS_H

#include "import/nsys_import.h"

enum nsys_import_need { NSYS_NEEDED, NSYS_NULLABLE, NSYS_OPTIONAL };

enum nsys_import_source {
	NSYS_START, NSYS_END, NSYS_THREAD, NSYS_PROCESS, NSYS_NUMBER, NSYS_CORRELATION,
	NSYS_SCALED, NSYS_REAL, NSYS_ENUM,
	NSYS_STRING, NSYS_TEXT, NSYS_DEVICE, NSYS_CONTEXT, NSYS_STREAM, NSYS_SYMBOL, NSYS_FULL_NAME,
	NSYS_SHORT_NAME, NSYS_FUNCTION, NSYS_DOMAIN, NSYS_CATEGORY, NSYS_UUID, NSYS_CUDA_STACK,
	NSYS_OS_RUNTIME_STACK, NSYS_FRAME, NSYS_FRAME_FILE, NSYS_INSTRUCTION, NSYS_CONSTANT,
};

struct nsys_import_column {
	const char *name;
	enum nsys_import_need need;
	enum nsys_import_source source;
	const char *field;
	s64 other;
};

struct nsys_import_table {
	const char *name;
	u16 kind;
	const char *rows; /* a condition; NULL: all */
	const struct nsys_import_column *columns;
	size_t column_count;
};

#define NSYS_COLUMNS_MAX 40 /* of a table */

/* nsys_tables.c */
const struct nsys_import_table *nsys_import_tables(size_t *ret_count);

struct nsys_rows; /* a statement that selects them */

/* The table must be there. -EINVAL names a column that is missing. */
int nsys_rows_open(struct nsys_import *import, const struct nsys_import_table *table,
		   struct nsys_rows **ret_rows, struct err *err);
/* 1 and the next row as a record (room for RECORD_SIZE_MAX_BYTES), which it clears; 0 at the end; -EINVAL names table,
 * column and row of a cell that can't be what it says. */
int nsys_rows_next(struct nsys_import *import, struct nsys_rows *rows, struct record_header *record,
		   struct err *err);
/* NULL is allowed; returns NULL. */
struct nsys_rows *nsys_rows_free(struct nsys_rows *rows);

#endif
