/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reports/block_opening.h"

#include <errno.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "reports/report_gpu_doubts.h"
#include "store/schema.h"
#include "../bpf/record.h"

#define ENDS_MAX (BLOCK_OPENING_LINES_MAX - 2)

/* Of a recording of hours nobody wants milliseconds. */
static void append_seconds(struct text *text, u64 ns)
{
	double seconds = (double)ns / NS_PER_SECOND;

	text_appendf(text, "%.*f s", seconds < 99.9995 ? 3 : 1, seconds);
}

static bool is_only_process(const struct view *view, u32 pid)
{
	const struct view_survey *survey = view_survey(view);

	for (size_t i = 0; i < survey->row_count; i++)
		if (survey->rows[i].type == ROW_STREAM && survey->rows[i].pid != pid)
			return false;
	return true;
}

/* Without calls nobody knows whose the work of GPUs is: steps end with them. */
static bool is_without_steps(const struct view *view, const struct view_recording_end *end)
{
	size_t count;
	const struct view_recording_end *ends = view_recording_ends(view, &count);

	for (size_t i = 0; i < count && end->sort == VALUE_recorded_sort_gpu; i++)
		if (ends[i].sort == VALUE_recorded_sort_cuda_calls &&
		    (!ends[i].pid || ends[i].pid == end->pid) && ends[i].at_ns < end->at_ns)
			return true;
	return false;
}

/* The calls that end with the GPU's work are not worth a line. */
static bool goes_without_saying(const struct view *view, const struct view_recording_end *end)
{
	return end->sort == VALUE_recorded_sort_cuda_calls &&
	       view_recorded_until(view, VALUE_recorded_sort_gpu, end->pid) <= end->at_ns;
}

static void append_end(const struct view *view, const struct view_recording_end *end,
		       struct text *text)
{
	static const struct {
		const char *what, *then;
	} words[] = {
		[VALUE_recorded_sort_gpu] = {"GPU recording", "busy, idle, steps"},
		[VALUE_recorded_sort_cuda_calls] = {"CUDA call recording", "their shares, steps"},
		[VALUE_recorded_sort_waits] = {"Recording of waits", "causes of idle"},
	};
	const struct view_survey *survey = view_survey(view);
	const struct schema_enum_value *why = schema_enum("recording_end_why", end->why);
	bool of_all = !end->pid || is_only_process(view, end->pid);

	if (end->sort >= ARRAY_SIZE(words) || !words[end->sort].what)
		return;
	text_append(text, words[end->sort].what);
	if (!of_all)
		text_appendf(text, " of %u", end->pid);
	text_append(text, " ended at ");
	append_seconds(text, end->at_ns - survey->window_start_ns);
	text_append(text, " of ");
	append_seconds(text, survey->window_end_ns - survey->window_start_ns);
	text_appendf(text, ": %s; ", why ? why->meaning : "it is not known why");
	if (of_all) {
		text_appendf(text, "%s%s ",
			     is_without_steps(view, end) ? "busy, idle" : words[end->sort].then,
			     end->until_ns < end->at_ns ? ": of the first" : " are of these");
		append_seconds(text, end->until_ns - survey->window_start_ns);
	} else {
		text_append(text, "its numbers end there");
	}
	text_append_char(text, '\n');
}

int block_opening_append(const struct view *view, struct text *text)
{
	size_t count, lines = 0, more = 0;
	const struct view_recording_end *ends = view_recording_ends(view, &count);

	for (size_t i = 0; i < count; i++) {
		if (goes_without_saying(view, &ends[i]))
			continue;
		if (lines == ENDS_MAX) {
			more++;
			continue;
		}
		append_end(view, &ends[i], text);
		lines++;
	}
	if (more)
		text_appendf(text, "So did %zu more inside the window, see the ledger.\n", more);
	if (report_append_gpu_doubts(view, text))
		text_append(text, ".\n");
	return text->failed ? -ENOMEM : 0;
}
