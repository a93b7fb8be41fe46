/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report "steps": the steps (steps/view_steps.h) of each thread that has some, and what GPUs did in each. */
#include <errno.h>

#include "base/cleanup.h"
#include "reports/report_table.h"
#include "steps/view_steps.h"

enum column {
	COLUMN_NUMBER,
	COLUMN_START,
	COLUMN_DURATION,
	COLUMN_GPU_START,
	COLUMN_GPU_SPAN,
	COLUMN_GPU_BUSY,
	COLUMN_KERNELS,
	COLUMN_KERNEL_TIME,
	COLUMN_GRAPHS,
	COLUMN_COPIES,
	COLUMN_COPY_BYTES,
	COLUMN_SETS,
	COLUMN_PID,
	COLUMN_TID,
	COLUMN_SOURCE,
	COLUMN_NAME,
	COLUMNS,
};

static const struct report_column columns[COLUMNS] = {
	[COLUMN_NUMBER] = {"Step", REPORT_NUMBER},
	[COLUMN_START] = {"Start (ns)", REPORT_COUNT},
	[COLUMN_DURATION] = {"Duration (ns)", REPORT_COUNT},
	[COLUMN_GPU_START] = {"GPU Start (ns)", REPORT_COUNT},
	[COLUMN_GPU_SPAN] = {"GPU Span (ns)", REPORT_COUNT},
	[COLUMN_GPU_BUSY] = {"GPU Busy (ns)", REPORT_COUNT},
	[COLUMN_KERNELS] = {"Kernels", REPORT_COUNT},
	[COLUMN_KERNEL_TIME] = {"Kernel Time (ns)", REPORT_COUNT},
	[COLUMN_GRAPHS] = {"Graphs", REPORT_COUNT},
	[COLUMN_COPIES] = {"Copies", REPORT_COUNT},
	[COLUMN_COPY_BYTES] = {"Copied (bytes)", REPORT_COUNT},
	[COLUMN_SETS] = {"Sets", REPORT_COUNT},
	[COLUMN_PID] = {"PID", REPORT_NUMBER},
	[COLUMN_TID] = {"TID", REPORT_NUMBER},
	[COLUMN_SOURCE] = {"From", REPORT_TEXT},
	[COLUMN_NAME] = {"Name", REPORT_NAME},
};

/* Since the window opened; work that began before by its clock at its begin. */
static u64 since(u64 ts, u64 window_start_ns)
{
	return ts > window_start_ns ? ts - window_start_ns : 0;
}

static int add_row(struct report_table *table, const struct view_step_track *track,
		   const struct view_step *step, u64 window_start_ns)
{
	const struct view_step_work *work = view_step_work(track, step);
	struct report_row *row = report_table_add(table);
	struct report_cell *cells;

	if (!row || report_cell_text(&row->cells[COLUMN_NAME], step->name) < 0 ||
	    report_cell_text(&row->cells[COLUMN_SOURCE], view_step_source_text(track->source)) < 0)
		return -ENOMEM;
	cells = row->cells;
	report_cell_count(&cells[COLUMN_NUMBER], step->number);
	report_cell_count(&cells[COLUMN_START], since(step->start_ns, window_start_ns));
	report_cell_count(&cells[COLUMN_DURATION], step->end_ns - step->start_ns);
	report_cell_count(&cells[COLUMN_PID], track->pid);
	report_cell_count(&cells[COLUMN_TID], track->tid);
	/* What GPUs did in it is not known. */
	if (!step->gpu_recorded)
		return 0;
	if (work->device_count) {
		report_cell_count(&cells[COLUMN_GPU_START], since(work->first_ns, window_start_ns));
		report_cell_count(&cells[COLUMN_GPU_SPAN], work->last_ns - work->first_ns);
	}
	report_cell_count(&cells[COLUMN_GPU_BUSY], work->busy_ns);
	report_cell_count(&cells[COLUMN_KERNELS], work->kernel_count);
	report_cell_count(&cells[COLUMN_KERNEL_TIME], work->kernel_ns);
	report_cell_count(&cells[COLUMN_GRAPHS], work->graph_count);
	report_cell_count(&cells[COLUMN_COPIES], work->copy_count);
	report_cell_count(&cells[COLUMN_COPY_BYTES], work->copy_bytes);
	report_cell_count(&cells[COLUMN_SETS], work->set_count);
	return 0;
}

static int add_note(struct report_table *table, const struct view_steps *steps)
{
	struct text note _cleanup_text_ = {0};

	if (!table->row_count)
		return 0;
	if (steps->left_out)
		text_appendf(&note, "%llu more steps were left out: there are places for %u",
			     (unsigned long long)steps->left_out, VIEW_STEPS_MAX);
	if (steps->why_short)
		text_appendf(&note, "%slooked for among the first launches only: %s",
			     note.length ? "; " : "", steps->why_short);
	if (note.failed)
		return -ENOMEM;
	table->rows[0].note = take_pointer(&note.data);
	return 0;
}

/* Why there are none. */
static const char *empty_text(struct view *view, const struct view_steps *steps)
{
	struct text text _cleanup_text_ = {0};

	if (steps->step_name)
		return "No range or call has the name that --step-name gives.";
	text_append(&text, "No steps were found: no range is named like one, and no thread does "
			   "the same again and again");
	if (steps->why_short)
		text_appendf(&text, " among its first launches, and more could not be kept: %s",
			     steps->why_short);
	text_append(&text, ". --step-name GLOB says what is one.");
	return text.failed ? NULL : view_intern(view, text.data, text.length);
}

int report_steps_make(struct view *view, const struct report_request *request,
		      struct report_table *table, struct err *err)
{
	const struct view_steps *steps;
	int result = view_steps(view, &steps, err);

	table->title = "Steps, by thread";
	table->columns = columns;
	table->column_count = COLUMNS;
	if (result < 0)
		return result;
	table->empty = empty_text(view, steps);
	if (!table->empty)
		return err_errno(err, -ENOMEM, "can't make the report steps");
	for (size_t i = 0; i < steps->track_count && result == 0; i++)
		for (size_t n = 0; n < steps->tracks[i].count && result == 0; n++)
			result = add_row(table, &steps->tracks[i], &steps->tracks[i].steps[n],
					 view_survey(view)->window_start_ns);
	if (result == 0)
		result = add_note(table, steps);
	return result < 0 ? err_errno(err, result, "can't make the report steps") : 0;
}
