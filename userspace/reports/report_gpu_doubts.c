/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reports/report_gpu_doubts.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

/* Has it a row of its own before this one? */
static bool is_told(const struct view *view, size_t index)
{
	const struct view_row *rows = view_survey(view)->rows;
	const struct record_header *device = view_fact(view, KIND_device, rows[index].device);

	for (size_t i = 0; i < index; i++)
		if (rows[i].type == ROW_STREAM &&
		    (rows[i].device == rows[index].device ||
		     view_is_same_gpu(view_fact(view, KIND_device, rows[i].device), device)))
			return true;
	return false;
}

/* Of row `index`: appends what is not known of its GPU, where that is not told of yet. */
static bool doubts_append(const struct view *view, size_t index, struct text *doubts)
{
	const struct view_row *row = &view_survey(view)->rows[index];

	return row->type == ROW_STREAM && !is_told(view, index) &&
	       view_append_gpu_doubts(view, row->device, doubts);
}

bool report_append_gpu_doubts(const struct view *view, struct text *text)
{
	const struct view_survey *survey = view_survey(view);
	bool any = false;

	for (size_t i = 0; i < survey->row_count; i++) {
		_cleanup_text_ struct text doubts = {0};

		if (!doubts_append(view, i, &doubts))
			continue;
		text_appendf(text, "%sGPU %u is not known to be idle: %s", any ? "; " : "",
			     survey->rows[i].device_number, text_string(&doubts));
		text->failed |= doubts.failed;
		any = true;
	}
	return any;
}

int report_note_gpu_doubts(const struct view *view, size_t device_column,
			   struct report_table *table)
{
	const struct view_survey *survey = view_survey(view);
	_cleanup_text_ struct text note = {0};

	if (!report_append_gpu_doubts(view, &note))
		return 0;
	for (size_t i = 0; i < survey->row_count; i++) {
		_cleanup_text_ struct text doubts = {0};
		size_t rows = doubts_append(view, i, &doubts) ? table->row_count : 0;

		for (size_t j = 0; j < rows; j++)
			table->rows[j].marked |= table->rows[j].cells[device_column].count ==
						 survey->rows[i].device_number;
	}
	table->marked_note = note.failed ? NULL : strdup(text_string(&note));
	return table->marked_note ? 0 : -ENOMEM;
}
