/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why/why.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "why/why_notes.h"
#include "why/why_parts.h"

static const struct {
	const char *words, *seen;
} sorts[WHY_SORTS] = {
#define SORT(name, words, seen) [WHY_##name] = {words, seen},
#include "why/why_sorts.def"
};

bool why_is_known(enum why_sort sort)
{
	return sort < WHY_FIRST;
}

bool why_is_idle(enum why_sort sort)
{
	return sort != WHY_FIRST;
}

const char *why_words(enum why_sort sort)
{
	return sorts[sort].words;
}

const char *why_seen(enum why_sort sort)
{
	return sorts[sort].seen;
}

/* By all that the report gpu_why shows of them. */
static int compare_shown(const struct why_cause *left, const struct why_cause *right)
{
	if (left->gpu != right->gpu)
		return left->gpu < right->gpu ? -1 : 1;
	if (left->sort != right->sort)
		return left->sort < right->sort ? -1 : 1;
	if (left->row_index != right->row_index)
		return left->row_index < right->row_index ? -1 : 1;
	if (left->waiter != right->waiter)
		return left->waiter < right->waiter ? -1 : 1;
	return strcmp(left->what, right->what);
}

static int compare_causes(const void *a, const void *b)
{
	const struct why_cause *left = a, *right = b;
	int shown;

	if (left->ns != right->ns)
		return left->ns < right->ns ? 1 : -1;
	shown = compare_shown(left, right);
	if (shown)
		return shown;
	if (left->wait != right->wait)
		return left->wait < right->wait ? -1 : 1;
	if (left->held != right->held)
		return left->held < right->held ? -1 : 1;
	if (left->group != right->group)
		return left->group < right->group ? -1 : 1;
	return left->is_long - right->is_long;
}

/* Those of all times first. */
static int compare_made(const void *a, const void *b)
{
	const struct why_cause *left = a, *right = b;
	bool left_all = left->group == WHY_ALL, right_all = right->group == WHY_ALL;

	return left_all != right_all ? right_all - left_all : compare_causes(a, b);
}

static int compare_to_merge(const void *a, const void *b)
{
	return compare_shown(a, b);
}

void why_merge(struct why *why)
{
	size_t count = 0;

	if (!why->count)
		return;
	qsort(why->causes, why->count, sizeof(*why->causes), compare_to_merge);
	for (size_t i = 0; i < why->count; i++) {
		struct why_cause *cause = &why->causes[i], *last = &why->causes[count - 1];

		if (count && !compare_shown(last, cause)) {
			last->ns += cause->ns;
			last->held_ns += cause->held_ns;
			last->gaps += cause->gaps;
		} else {
			why->causes[count++] = *cause;
		}
	}
	why->count = count;
	qsort(why->causes, why->count, sizeof(*why->causes), compare_causes);
}

/* ---- how they are found ---- */

struct why_making {
	struct view *view;
	struct why *why;
	struct why_tally tally;
	struct why_earlier earlier;
	struct why_gaps gaps;
	struct why_gaps_run *run;
	struct view_kept *kept; /* for what threads did */
	struct why_timeouts timeouts;
};

int why_making_new(struct view *view, bool slices_follow, struct why_notes *notes,
		   struct why *ret_why, struct why_making **ret_making, struct err *err)
{
	struct why_making *making = calloc(1, sizeof(*making));

	*ret_why = (struct why){0};
	if (making) {
		making->view = view;
		making->why = ret_why;
		making->tally = (struct why_tally){
			.why = ret_why,
			.notes = notes,
			.earlier = slices_follow ? &making->earlier : NULL,
		};
		making->earlier.store = (struct spool_store)SPOOL_STORE_INIT_SPARED;
		making->gaps.store = (struct spool_store)SPOOL_STORE_INIT_SPARED;
		making->timeouts.store = (struct spool_store)SPOOL_STORE_INIT_SPARED;
		making->run = why_gaps_run_new(&making->tally, &making->gaps);
		making->kept = view_kept_new(view, why_threads_kinds);
	}
	if (!making || !making->run || !making->kept) {
		why_making_free(making);
		return err_errno(err, -ENOMEM, "can't look for why GPUs are idle");
	}
	*ret_making = making;
	return 0;
}

static int run_open(void *data, const struct view *view, const struct view_survey *survey,
		    struct err *err)
{
	struct why_making *making = data;

	if (why_timeouts_init(&making->timeouts, survey->row_count))
		return err_errno(err, -ENOMEM, "can't look for why GPUs are idle");
	return why_gaps_sink.open(making->run, view, survey, err);
}

static int run_span(void *data, const struct view_event *event, struct err *err)
{
	struct why_making *making = data;

	view_kept_add(making->kept, event);
	if (event->kind->number == KIND_off_cpu)
		return why_timeouts_add(&making->timeouts, event, err);
	return why_gaps_sink.span(making->run, event, err);
}

static int run_other(void *data, const struct view_event *event, struct err *err)
{
	const struct why_making *making = data;

	(void)err;
	view_kept_add(making->kept, event);
	return 0;
}

struct view_part why_making_part(struct why_making *making)
{
	static const struct view_sink sink = {.open = run_open,
					      .span = run_span,
					      .point = run_other,
					      .counter = run_other,
					      .total = run_other,
					      .only_recorded = true};

	return (struct view_part){&sink, making};
}

/* Those of all times come first. */
static void part_groups(struct why *why)
{
	size_t count = 0;

	while (count < why->count && why->causes[count].group == WHY_ALL)
		why->causes[count++].group = 0;
	why->grouped = why->causes + count;
	why->grouped_count = why->count - count;
	why->count = count;
}

static int tell(struct why_making *making, const struct why_slices *slices, struct err *err)
{
	int result = why_gaps_run_finish(making->run, err);

	why_notes_end_run(making->tally.notes);
	if (result == 0)
		result = why_gaps_run_finish_edges(making->run, err);
	why_notes_end_run(making->tally.notes);
	making->tally.slices = slices;
	if (result == 0 && slices)
		result = why_earlier_tell(&making->earlier, &making->tally, err);
	if (result == 0)
		result = why_timeouts_finish(&making->timeouts, err);
	if (result == 0)
		result = why_threads_tell(making->view, making->kept, &making->timeouts,
					  &making->tally, &making->gaps, err);
	why_notes_end_run(making->tally.notes);
	return result;
}

int why_making_finish(struct why_making *making, const struct why_slices *slices, struct err *err)
{
	struct why *why = making->why;
	int result = tell(making, slices, err);

	if (result < 0)
		return result;
	if (why->count)
		qsort(why->causes, why->count, sizeof(*why->causes), compare_made);
	part_groups(why);
	if (slices)
		why_groups_busy(making->view, slices, why);
	return 0;
}

void why_making_free(struct why_making *making)
{
	if (!making)
		return;
	why_gaps_run_free(making->run);
	view_kept_free(making->kept);
	why_timeouts_free(&making->timeouts);
	why_gaps_free(&making->gaps, making->why->gpu_count);
	why_earlier_free(&making->earlier);
	map_free(&making->tally.pairs);
	map_free(&making->tally.waits_at);
	map_free(&making->tally.places);
	free(making->tally.last_gaps);
	free(making);
}

int why_make(struct view *view, struct why_notes *notes, struct why *ret_why, struct err *err)
{
	struct why_making *making;
	struct view_part part;
	int result = why_making_new(view, false, notes, ret_why, &making, err);

	if (result < 0)
		return result;
	part = why_making_part(making);
	result = view_run(view, part.sink, part.data, err);
	if (result == 0)
		result = why_making_finish(making, NULL, err);
	why_making_free(making);
	return result;
}

void why_free(struct why *why)
{
	free(why->causes);
	free(why->gpus);
	string_table_free(&why->whats);
	map_free(&why->hot_lines);
	why_callers_free(&why->callers);
	*why = (struct why){0};
}
