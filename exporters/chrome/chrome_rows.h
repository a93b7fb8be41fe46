/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pid and tid a row of the view has in a Chrome trace. Real ones stay as they are. Rows that have
 * none (streams, lanes beyond the first, pid or tid 0) get numbers that no process of the capture has: a
 * tid equal to a pid would be drawn as that process's main thread, and pid or tid 0 as any process's.
 */
#ifndef GPUPROBE_EXPORTERS_CHROME_CHROME_ROWS_H
#define GPUPROBE_EXPORTERS_CHROME_CHROME_ROWS_H

#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "view/view.h"

struct chrome_lane {
	u32 pid;
	u32 tid;
	const char *ids; /* ,"pid":1,"tid":2 ready to be copied */
	size_t ids_length;
};

struct chrome_process {
	u32 pid; /* in the trace */
	u32 real_pid;
	const struct view_row *row; /* the first of its rows, which says what it is */
	size_t waiting_count; /* of threads that only waited: it is the group of them */
	size_t first;		    /* number of that row: keeps the order of the survey */
};

struct chrome_rows {
	const struct view_survey *survey;
	/* In the order of drawing: GPUs, then processes, then those threads of theirs that only waited, as groups of their own,
	 * where others did more. */
	struct chrome_process *processes;
	size_t process_count;
	size_t *first_lane; /* per row of the survey, its first entry in lanes */
	struct chrome_lane *lanes;
	size_t lane_count;
	struct text ids; /* what chrome_lane.ids points into */
	u32 own_pid;	 /* of the row that says that something is missing, 0: there is none */
	u32 own_tid;
	struct map used; /* pids and tids of the capture */
	u32 next_tid;
};

/* survey must outlive rows. incomplete: with a row on top that says so. Zero-initialise rows;
 * chrome_rows_free() after a failure too. */
int chrome_rows_make(struct chrome_rows *rows, const struct view_survey *survey, bool incomplete,
		     struct err *err);
void chrome_rows_free(struct chrome_rows *rows);

/* Never NULL for a row and lane of the survey; NULL for others. */
static inline const struct chrome_lane *chrome_rows_lane(const struct chrome_rows *rows,
							 size_t row_index, unsigned lane)
{
	if (row_index >= rows->survey->row_count ||
	    lane >= rows->survey->rows[row_index].lane_count)
		return NULL;
	return &rows->lanes[rows->first_lane[row_index] + lane];
}

/* The row of a thread; SIZE_MAX: it has none. */
size_t chrome_rows_thread(const struct chrome_rows *rows, u32 pid, u32 tid);

/* One that nothing in the trace has. */
u32 chrome_rows_new_tid(struct chrome_rows *rows);
/* Names a row that came later, with ",\n" behind each event. */
void chrome_rows_append_name(u32 pid, u32 tid, const char *name, size_t sort_index,
			     struct text *text);

/* Appends the process_name, thread_name and sort index events, each with ",\n" behind it. */
void chrome_rows_append_names(const struct chrome_rows *rows, const struct view *view,
			      struct text *text);

#endif
