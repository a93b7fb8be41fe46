/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a report makes and the printer prints: columns, rows of cells, notes. */
#ifndef GPUPROBE_REPORTS_REPORT_TABLE_H
#define GPUPROBE_REPORTS_REPORT_TABLE_H

#include <stdio.h>

#include "base/err.h"
#include "base/text.h"
#include "base/types.h"
#include "reports/reports.h"

enum report_value {
	REPORT_TEXT,
	REPORT_NAME, /* text, of code */
	REPORT_LINES, /* lines of text below the row in column format; else with " < " between; last column only */
	REPORT_COUNT,
	REPORT_NUMBER, /* as a count, but it counts nothing: the number of a process, of a device, ... */
	REPORT_DECIMAL,
};

struct report_column {
	const char *
		name; /* with its unit; the key in JSON; where that is (ns) the values are, and may be printed in other units */
	enum report_value type;
	int decimals; /* REPORT_DECIMAL; of times (a name that ends in "(ns)") only where they are printed in ns */
};

struct report_cell {
	bool empty; /* there is no value */
	u64 count;
	double decimal;
	char *text;
};

struct report_row {
	struct report_cell *cells; /* one for each column */
	char *note;		   /* a sentence about this row for people, NULL: none */
	bool marked;		   /* the table's marked_note holds for it */
	u64 recorded_ns;	   /* of the window, up to then, what it is about was recorded; 0: all of it */
};

/* Zero-initialise but for the constant parts. */
struct report_table {
	const char *title;
	bool cut; /* the recording was */
	bool for_people; /* who see a few rows of it, and want them to say much */
	const char *
		empty; /* what to say when it has no rows; not needed where the report has data words */
	bool whole; /* nothing is missing in it of a recording that was cut */
	/* Set, with title and columns, before the first row: rows are printed as they come, and freed. A row is complete when
	 * the next one is added. Else all are kept up to the end, and may be sorted. */
	bool streamed;
	const struct report_column *columns;
	struct report_column *made_columns; /* where columns is malloc'ed; NULL: it is constant */
	size_t column_count;
	struct report_row *rows;
	size_t row_count, row_capacity;
	int (*print)(
		struct report_table
			*table); /* takes the rows that there are; NULL: nobody waits for them */
	struct report_printer *printer;
	char *brief; /* what screens show instead of rows; malloc'ed; NULL: the rows */
	char *marked_note; /* a sentence about all marked rows, for people; malloc'ed; NULL: none */
	char *marked_brief; /* the same in a few words, behind a heading; malloc'ed; NULL: screens do not mark rows */
	const char *empty_cells; /* why cells may be empty, NULL: they cannot */
};

/* A row of empty cells, valid until the next one; NULL: out of memory, or rows that are streamed could not be printed. */
struct report_row *report_table_add(struct report_table *table);
/* Sorts the rows and frees all but the first count. */
void report_table_keep(struct report_table *table,
		       int (*compare)(const void *row, const void *other), size_t count);
void report_cell_count(struct report_cell *cell, u64 count);
void report_cell_decimal(struct report_cell *cell, double decimal);
int report_cell_text(struct report_cell *cell, const char *text);
struct statistics_row;
/* Five cells side by side: mean, median, least, most, standard deviation. */
void report_cells_figures(struct report_cell *cells, const struct statistics_row *figures);
void report_table_free(struct report_table *table);
#define _cleanup_report_table_ __attribute__((cleanup(report_table_free)))

/* A report that is being made by runs over the events, which others can share. */
struct report_run {
	void *data;	       /* the report's own */
	struct view_part part; /* of the next run; sink NULL: it needs none */
	/* Behind that run; sets part (its sink is NULL) where one more is needed. NULL: one is enough. */
	int (*then)(struct report_run *run, struct err *err);
	/* Behind the last one, before any other run: makes all rows, in their order. */
	int (*fill)(void *data, struct report_table *table, struct err *err);
	void (*free)(void *data);
};

/* The reports: by themselves, or by runs. The latter set up the table as far as it is known by now; who calls that frees data, unless it is
 * NULL, of an error too. */
typedef int report_make(struct view *view, const struct report_request *request,
			struct report_table *table, struct err *err);
typedef int report_begin(struct view *view, const struct report_request *request,
			 struct report_table *table, struct report_run *ret_run, struct err *err);
report_make report_distribution_make;
report_make report_overhead_make;
report_begin report_functions_begin;
report_make report_ledger_make;
report_begin report_summary_begin;
report_make report_launch_make;
report_make report_idle_make;
report_begin report_usdt_begin;
report_begin report_growth_begin;
report_begin report_stacks_begin;
report_make report_ready_make;
report_make report_wakers_make;
report_begin report_blockers_begin;
report_begin report_cpu_begin;
report_begin report_threads_begin;
report_begin report_tasks_begin;
report_begin report_gpu_code_begin;
report_begin report_gpu_why_begin;
report_begin report_hints_begin;
report_make report_wall_make;
report_make report_tree_make;
report_make report_gpu_tree_make;
report_begin report_allocations_begin;
report_make report_steps_make;
report_begin report_steps_sum_begin;
report_begin report_busy_begin;
report_begin report_time_begin;
report_make report_trace_make;
report_make report_utilization_make;
report_make report_range_kernels_make;
report_make report_ranges_make;
report_make report_range_work_make;
report_make report_exec_trace_make;
report_make report_unified_memory_make;
report_make report_absent_make;

/* The part of the report functions behind the statistics, apart for the tests. */
int report_functions_fill(const struct statistics_row *rows, size_t count, u64 window_start_ns,
			  struct report_table *table, struct err *err);

#endif
