/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "view/view_parts.h"

/* Adds to the entry of this reason and place; the first moment is its own. */
static int ledger_add_at(struct view_ledger *ledger, struct map *index, struct string_table *places,
			 u32 reason, const char *place, u64 count, u64 at_ns)
{
	const struct schema_enum_value *value = schema_enum("loss_reason", reason);
	s64 place_number;
	u64 *entry;

	if (!count)
		return 0;
	place_number = string_table_add(places, place, strlen(place));
	if (place_number < 0)
		return -ENOMEM;
	entry = map_find(index, reason, place_number);
	if (entry) {
		u64 sum = ledger->losses[*entry].count + count;

		ledger->losses[*entry].count = sum < count ? ~0ULL : sum;
		return 0;
	}
	if (array_reserve(&ledger->losses, &ledger->capacity, ledger->count + 1) < 0 ||
	    map_set(index, reason, place_number, ledger->count) < 0)
		return -ENOMEM;
	ledger->losses[ledger->count++] = (struct view_loss){
		.reason = reason,
		.tag = value ? value->tag : "unknown",
		.meaning = value ? value->meaning : "for a reason that this version does not know",
		.place = place,
		.count = count,
		.at_ns = at_ns,
	};
	return 0;
}

static int ledger_add(struct view_ledger *ledger, struct map *index, struct string_table *places,
		      u32 reason, const char *place, u64 count)
{
	return ledger_add_at(ledger, index, places, reason, place, count, 0);
}

/* To a tenth of a percent; what is less than that is not nothing. of: what the whole is. */
static void append_share(struct text *text, u64 part, u64 whole, const char *of)
{
	double percent = whole ? 100.0 * part / whole : 0;

	if (percent > 0 && percent < 0.05)
		text_append(text, "less than 0.1 %");
	else
		text_appendf(text, "%.1f %%", percent);
	text_appendf(text, " of %s", of);
}

/* Of how many stacks in a hundred this many are. NULL: without memory. */
static const char *place_of_cut_stacks(struct view *view, const char *place, u64 count)
{
	const char *walked = view_attribute(view, "result", "stacks walked by unwind tables");
	double all = walked ? strtod(walked, NULL) : 0;
	struct text text _cleanup_text_ = {0};

	/* Captures of earlier versions do not say it. */
	if (!(all > 0))
		return place;
	text_appendf(&text, "%s, ", place);
	append_share(&text, count, (u64)all, "stacks");
	return text.failed ? NULL : view_intern(view, text.data, text.length);
}

/* The capture keeps the last count of each source, reason and place. Producers write growing
 * counts, so a second entry of one source would be the same losses again. */
static int ledger_add_facts(struct view *view, struct map *index, struct string_table *places)
{
	size_t count;
	const struct record_header *const *facts = view_facts(view, KIND_loss, &count);

	for (size_t i = 0; i < count; i++) {
		const struct record_loss *loss = (const struct record_loss *)facts[i];
		const char *place = view_text(view, loss->place);
		u64 lost = loss->count == ~0ULL ? 0 : loss->count;
		int result;

		place = place ? place : "";
		if (loss->reason == VALUE_loss_reason_stack_cut)
			place = place_of_cut_stacks(view, place, lost);
		result = place ? ledger_add_at(&view->ledger, index, places, loss->reason, place,
					       lost, loss->at)
			       : -ENOMEM;
		if (result < 0)
			return result;
	}
	return 0;
}

static int ledger_add_reading(struct view *view, struct map *index, struct string_table *places,
			      const struct view_causes *causes, u64 outside_window)
{
	const struct {
		u32 reason;
		u64 count;
	} counts[] = {
		{VALUE_loss_reason_outside_window, outside_window},
		{VALUE_loss_reason_launch_forgotten, causes->forgotten_count},
		{VALUE_loss_reason_launch_after_kernel, causes->after_kernel_count},
		{VALUE_loss_reason_launch_stack_uncertain, view->launch_stacks.uncertain_count},
		{VALUE_loss_reason_range_unnamed, view->unnamed_range_count},
		{VALUE_loss_reason_profiler_call, view->profiler_call_count},
	};
	size_t value_count;
	const struct schema_enum_value *values = schema_enum_values(&value_count);
	int result = 0;

	for (size_t i = 0; i < value_count && result == 0; i++)
		if (strcmp(values[i].enum_name, "loss_reason") == 0)
			result = ledger_add(&view->ledger, index, places, values[i].number,
					    VIEW_PLACE_OF_READING,
					    capture_reader_loss(view->reader, values[i].number));
	for (size_t i = 0; i < ARRAY_SIZE(counts) && result == 0; i++)
		result = ledger_add(&view->ledger, index, places, counts[i].reason,
				    VIEW_PLACE_OF_READING, counts[i].count);
	return result;
}

static int ledger_add_kernels(struct view *view, struct map *index, struct string_table *places,
			      const struct matrix_kernels *kernels)
{
	int result = 0;

	for (size_t work = MATRIX_WORK_NONE + 1; work < MATRIX_WORK_COUNT && result == 0; work++) {
		struct text text _cleanup_text_ = {0};
		const char *place;

		text_appendf(&text, "%s, ", matrix_work_name(work));
		append_share(&text, kernels->unsized_ns[work], kernels->ns,
			     "the time of all kernels");
		place = text.failed ? NULL : view_intern(view, text.data, text.length);
		result = place ? ledger_add(&view->ledger, index, places,
					    VALUE_loss_reason_size_unknown, place,
					    kernels->unsized_count[work])
			       : -ENOMEM;
	}
	return result;
}

/* How much of the GPU's time it is. */
static int ledger_add_missing(struct view *view, struct map *index, struct string_table *places,
			      const struct view_causes *causes)
{
	struct text share _cleanup_text_ = {0};
	const char *place;

	if (!causes->missing_count)
		return 0;
	append_share(&share, causes->missing_ns, causes->work_ns, "GPU time");
	place = share.failed ? NULL : view_intern(view, share.data, share.length);
	if (!place)
		return -ENOMEM;
	return ledger_add(&view->ledger, index, places, VALUE_loss_reason_launch_missing, place,
			  causes->missing_count);
}

static int compare_losses(const void *a, const void *b)
{
	const struct view_loss *first = a, *second = b;

	if (first->reason != second->reason)
		return first->reason < second->reason ? -1 : 1;
	return strcmp(first->place, second->place);
}

int view_ledger_init(struct view *view, const struct view_causes *causes,
		     const struct matrix_kernels *kernels, u64 outside_window)
{
	struct string_table places = {0};
	struct map index = {0};
	int result = ledger_add_facts(view, &index, &places);

	if (result == 0)
		result = ledger_add_reading(view, &index, &places, causes, outside_window);
	if (result == 0)
		result = ledger_add_kernels(view, &index, &places, kernels);
	if (result == 0)
		result = ledger_add_missing(view, &index, &places, causes);
	if (result == 0)
		result = ledger_add(&view->ledger, &index, &places,
				    VALUE_loss_reason_launched_before, VIEW_PLACE_OF_READING,
				    causes->before_count);
	if (result == 0 && view->ledger.count)
		qsort(view->ledger.losses, view->ledger.count, sizeof(*view->ledger.losses),
		      compare_losses);
	string_table_free(&places);
	map_free(&index);
	return result;
}

int view_note_loss(struct view *view, u32 reason, const char *place, u64 count)
{
	struct view_ledger *ledger = &view->ledger;
	struct string_table places = {0};
	struct map index = {0};
	const char *kept = view_intern(view, place, strlen(place));
	int result = kept ? ledger_add(ledger, &index, &places, reason, kept, count) : -ENOMEM;

	if (result == 0 && ledger->count)
		qsort(ledger->losses, ledger->count, sizeof(*ledger->losses), compare_losses);
	view->survey.losses = ledger->losses;
	view->survey.loss_count = ledger->count;
	string_table_free(&places);
	map_free(&index);
	return result;
}

void view_loss_append_moment(const struct view_survey *survey, const struct view_loss *loss,
			     struct text *text)
{
	if (loss->at_ns < survey->window_start_ns || loss->at_ns > survey->window_end_ns ||
	    (loss->reason == VALUE_loss_reason_switched_off ||
	     loss->reason == VALUE_loss_reason_switched_gap ||
	     loss->reason == VALUE_loss_reason_launch_stacks_sampled ||
	     loss->reason == VALUE_loss_reason_launch_stacks_ended))
		return;
	text_appendf(text, "%sat %.3f s", *loss->place ? ", " : "",
		     (double)(loss->at_ns - survey->window_start_ns) / NS_PER_SECOND);
}

/* Is anything missing that the recording should have held? Else it says how the recording went, or outputs say it themselves where it is. */
static bool is_loss(const struct view_survey *survey, const struct view_loss *loss)
{
	switch (schema_loss_class(loss->reason)) {
	case LOSS_CLASS_SIZES:
	case LOSS_CLASS_STACKS:
	case LOSS_CLASS_NOTHING:
		return false;
	case LOSS_CLASS_FEW:
		return !schema_loss_is_few(loss->count, survey->wait_count + loss->count);
	default:
		return true;
	}
}

bool view_is_complete(const struct view_survey *survey)
{
	if (survey->cut)
		return false;
	for (size_t i = 0; i < survey->loss_count; i++) {
		if (is_loss(survey, &survey->losses[i]))
			return false;
	}
	return true;
}

void view_ledger_free(struct view_ledger *ledger)
{
	free(ledger->losses);
}
