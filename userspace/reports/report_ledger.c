/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report "ledger": everything that was lost, or is not as it seems, where, and how many; what means most first, of which
 * a screen has one line.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "reports/report_table.h"
#include "store/schema.h"
#include "../bpf/record.h"

enum column { COLUMN_REASON, COLUMN_PLACE, COLUMN_LOST, COLUMN_AT, COLUMN_MEANING, COLUMN_COUNT };

static const struct report_column columns[COLUMN_COUNT] = {
	[COLUMN_REASON] = {"Reason", REPORT_TEXT},   [COLUMN_PLACE] = {"Where", REPORT_TEXT},
	[COLUMN_LOST] = {"Count", REPORT_COUNT},     [COLUMN_AT] = {"At (ns)", REPORT_COUNT},
	[COLUMN_MEANING] = {"Meaning", REPORT_TEXT},
};

/* Each of these is one, whatever it counts: from a moment on, or all the time, something was not recorded, or somebody was harmed. */
static const u8 ends[] = {
	VALUE_loss_reason_gpu_taken_over, VALUE_loss_reason_gpu_times_missing,
	VALUE_loss_reason_recording_cut,  VALUE_loss_reason_agent_cut,
	VALUE_loss_reason_target_exec,	  VALUE_loss_reason_profiler_refused,
	VALUE_loss_reason_switched_off,	  VALUE_loss_reason_code_changed,
	VALUE_loss_reason_code_written,
};

/* The less, the more it means. */
static unsigned rank_of(u32 reason)
{
	static const unsigned ranks[] = {
		[LOSS_CLASS_RECORDS] = 0, [LOSS_CLASS_DURATIONS] = 1, [LOSS_CLASS_CAUSES] = 2,
		[LOSS_CLASS_OTHER] = 3,	  [LOSS_CLASS_SIZES] = 4,     [LOSS_CLASS_STACKS] = 5,
		[LOSS_CLASS_FEW] = 3,	  [LOSS_CLASS_NOTHING] = 6,
	};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (ends[i] == reason)
			return i;
	return ARRAY_SIZE(ends) + ranks[schema_loss_class(reason)];
}

static int compare(const void *left, const void *right)
{
	const struct view_loss *a = *(const struct view_loss *const *)left;
	const struct view_loss *b = *(const struct view_loss *const *)right;
	unsigned first = rank_of(a->reason), second = rank_of(b->reason);

	if (first != second)
		return first < second ? -1 : 1;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	if (a->reason != b->reason)
		return a->reason < b->reason ? -1 : 1;
	return strcmp(a->place, b->place);
}

/* ---- the line of a screen ---- */

/* Of all entries of that kind. */
static u64 count_of(const struct view_survey *survey, const struct view_loss *const *losses,
		    u32 reason)
{
	u64 count = 0;

	for (size_t i = 0; i < survey->loss_count; i++)
		count += losses[i]->reason == reason ? losses[i]->count : 0;
	return count;
}

/* "1 wait_end_unseen, 2794 stack_cut", each kind once. */
static void append_noted(const struct view_survey *survey, const struct view_loss *const *losses,
			 struct text *text)
{
	for (size_t i = 0; i < survey->loss_count; i++) {
		size_t before = 0;
		u64 count;

		while (before < i && losses[before]->reason != losses[i]->reason)
			before++;
		if (before < i)
			continue;
		count = count_of(survey, losses, losses[i]->reason);
		text_appendf(text, "%s%llu %s", i ? ", " : "", (unsigned long long)count,
			     losses[i]->tag);
		/* How much of the GPU's work it is stands there. */
		if (count == losses[i]->count &&
		    schema_loss_class(losses[i]->reason) == LOSS_CLASS_SIZES)
			text_appendf(text, " (%s)", losses[i]->place);
	}
}

/* What means most, and how many more there are. */
static void append_most(const struct view_survey *survey, const struct view_loss *const *losses,
			struct text *text)
{
	text_appendf(text, "%llu %s (%s", (unsigned long long)losses[0]->count, losses[0]->tag,
		     losses[0]->place);
	view_loss_append_moment(survey, losses[0], text);
	text_appendf(text, "): %s", losses[0]->meaning);
	if (survey->loss_count > 1)
		text_appendf(text, "; %zu more", survey->loss_count - 1);
	text_append(text, " (-r ledger)");
}

static int fill_brief(const struct view_survey *survey, const struct view_loss *const *losses,
		      struct report_table *table)
{
	struct text text = {0};

	if (!survey->loss_count)
		return 0;
	if (view_is_complete(survey)) {
		text_append(&text, "Nothing was lost. Noted (-r ledger): ");
		append_noted(survey, losses, &text);
	} else {
		append_most(survey, losses, &text);
	}
	if (text.failed)
		text_free(&text);
	table->brief = text.data;
	return table->brief ? 0 : -ENOMEM;
}

int report_ledger_make(struct view *view, const struct report_request *request,
		       struct report_table *table, struct err *err)
{
	const struct view_survey *survey = view_survey(view);
	_cleanup_free_ const struct view_loss **losses =
		calloc(survey->loss_count + 1, sizeof(*losses));

	table->title = "Ledger: what is missing or not as it seems";
	table->empty = "Nothing was lost.";
	table->whole = true;
	table->columns = columns;
	table->column_count = COLUMN_COUNT;
	if (!losses)
		return err_errno(err, -ENOMEM, "can't make the report ledger");
	for (size_t i = 0; i < survey->loss_count; i++)
		losses[i] = &survey->losses[i];
	qsort(losses, survey->loss_count, sizeof(*losses), compare);
	for (size_t i = 0; i < survey->loss_count; i++) {
		struct report_row *row = report_table_add(table);

		if (!row || report_cell_text(&row->cells[COLUMN_REASON], losses[i]->tag) < 0 ||
		    report_cell_text(&row->cells[COLUMN_PLACE], losses[i]->place) < 0 ||
		    report_cell_text(&row->cells[COLUMN_MEANING], losses[i]->meaning) < 0)
			return err_errno(err, -ENOMEM, "can't make the report ledger");
		report_cell_count(&row->cells[COLUMN_LOST], losses[i]->count);
		if (losses[i]->at_ns >= survey->window_start_ns &&
		    losses[i]->at_ns <= survey->window_end_ns)
			report_cell_count(&row->cells[COLUMN_AT],
					  losses[i]->at_ns - survey->window_start_ns);
	}
	if (fill_brief(survey, losses, table) < 0)
		return err_errno(err, -ENOMEM, "can't make the report ledger");
	return 0;
}
