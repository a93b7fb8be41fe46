/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What reports of waits have in common: sums over waits, and the columns of their figures, which come first. */
#ifndef GPUPROBE_REPORTS_REPORT_WAITS_H
#define GPUPROBE_REPORTS_REPORT_WAITS_H

#include "reports/report_table.h"

enum {
	WAITS_COLUMN_SHARE,
	WAITS_COLUMN_TOTAL,
	WAITS_COLUMN_COUNT,
	WAITS_COLUMN_AVERAGE,
	WAITS_COLUMN_MAXIMUM,
	WAITS_COLUMNS
};

/* Designated initializers of struct report_column[]. */
#define WAITS_COLUMN_ROWS                                         \
	[WAITS_COLUMN_SHARE] = {"Time (%)", REPORT_DECIMAL, 1},   \
	[WAITS_COLUMN_TOTAL] = {"Total Time (ns)", REPORT_COUNT}, \
	[WAITS_COLUMN_COUNT] = {"Num Waits", REPORT_COUNT},       \
	[WAITS_COLUMN_AVERAGE] = {"Avg (ns)", REPORT_DECIMAL, 1}, \
	[WAITS_COLUMN_MAXIMUM] = {"Max (ns)", REPORT_COUNT}

struct wait_sum {
	u64 total_ns, count, maximum_ns;
};

static inline void wait_sum_add(struct wait_sum *sum, u64 dur_ns)
{
	sum->count++;
	sum->total_ns += dur_ns;
	sum->maximum_ns = dur_ns > sum->maximum_ns ? dur_ns : sum->maximum_ns;
}

static inline void wait_sum_join(struct wait_sum *sum, const struct wait_sum *other)
{
	sum->count += other->count;
	sum->total_ns += other->total_ns;
	if (other->maximum_ns > sum->maximum_ns)
		sum->maximum_ns = other->maximum_ns;
}

/* all_ns: of all rows; the sum is of one wait at least. */
static inline void wait_sum_fill(const struct wait_sum *sum, double all_ns, struct report_row *row)
{
	report_cell_decimal(&row->cells[WAITS_COLUMN_SHARE],
			    all_ns > 0 ? 100.0 * sum->total_ns / all_ns : 0);
	report_cell_count(&row->cells[WAITS_COLUMN_TOTAL], sum->total_ns);
	report_cell_count(&row->cells[WAITS_COLUMN_COUNT], sum->count);
	report_cell_decimal(&row->cells[WAITS_COLUMN_AVERAGE], (double)sum->total_ns / sum->count);
	report_cell_count(&row->cells[WAITS_COLUMN_MAXIMUM], sum->maximum_ns);
}

/* What people read of a thread, by the name that it has in the view; stranger: of another process, as its wait says it, or NULL. */
static inline const char *wait_thread_name(const struct view *view, u32 pid, u32 tid, const char *stranger)
{
	const char *name = view_task_name(view, pid, tid);

	if (name)
		return name;
	if (*view_process_name(view, pid))
		return "a thread without a name";
	return stranger ? stranger : "a thread of another process";
}

#endif
