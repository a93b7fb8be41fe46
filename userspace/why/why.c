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
			last->gaps += cause->gaps;
		} else {
			why->causes[count++] = *cause;
		}
	}
	why->count = count;
	qsort(why->causes, why->count, sizeof(*why->causes), compare_causes);
}

int why_make(struct view *view, const struct why_slices *slices, struct why_notes *notes,
	     struct why *ret_why, struct err *err)
{
	struct why_tally tally = {.why = ret_why, .slices = slices, .notes = notes};
	struct why_gaps gaps = {.store = SPOOL_STORE_INIT};
	int result;

	*ret_why = (struct why){0};
	result = why_gaps_find(view, &tally, &gaps, err);
	why_notes_end_run(notes);
	if (result == 0)
		result = why_threads_ask(view, &tally, &gaps, err);
	why_notes_end_run(notes);
	why_gaps_free(&gaps, ret_why->gpu_count);
	map_free(&tally.pairs);
	map_free(&tally.places);
	free(tally.last_gaps);
	if (result == 0 && ret_why->count)
		qsort(ret_why->causes, ret_why->count, sizeof(*ret_why->causes), compare_causes);
	return result;
}

void why_free(struct why *why)
{
	free(why->causes);
	free(why->gpus);
	string_table_free(&why->whats);
	*why = (struct why){0};
}
