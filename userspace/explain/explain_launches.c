/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of how much of the kernels' time the code that launched it is known, and why not of the rest. */
#include <string.h>

#include "base/clock.h"
#include "explain/explain_parts.h"

#define STACKS		 "stacks of launches"
#define UNLAUNCHED_LEAST 0.05 /* of the kernels' time */

static const struct {
	u32 reason;
	const char *words;
} reasons[] = {
#define UNSTACKED(reason, words) {VALUE_loss_reason_##reason, words},
#include "explain/launches.def"
};

/* What is told of the stacks of a process, why it has none. */
static bool is_refusal(const struct view_attribute *attribute)
{
	return strcmp(attribute->group, "failure") == 0 &&
	       strncmp(attribute->key, STACKS, strlen(STACKS)) == 0;
}

static bool is_switched_off(const struct view_loss *loss)
{
	return loss->reason == VALUE_loss_reason_switched_off &&
	       strncmp(loss->place, STACKS, strlen(STACKS)) == 0;
}

bool explain_launches_wanted(const struct explain *explain)
{
	const struct view_survey *survey = explain->survey;
	bool wanted = view_kind_count(explain->view, KIND_launch_stack) != 0;

	for (size_t i = 0; i < survey->attribute_count && !wanted; i++)
		wanted = is_refusal(&survey->attributes[i]);
	return wanted && explain->kernel_ns;
}

bool explain_launches_ended(const struct explain *explain)
{
	const struct view_survey *survey = explain->survey;

	for (size_t i = 0; i < survey->loss_count; i++)
		if (survey->losses[i].reason == VALUE_loss_reason_launch_stacks_ended)
			return true;
	return false;
}

u64 explain_launches_code_ns(const struct explain *explain)
{
	return explain_launches_ended(explain) ? explain->stacked_ns : explain->kernel_ns;
}

double explain_launches_percent(const struct explain *explain)
{
	return 100.0 * (double)explain->stacked_ns / (double)(explain->kernel_ns ?: 1);
}

static void begin_reason(struct text *text, size_t *count)
{
	text_append(text, (*count)++ ? "; " : "");
}

static void append_loss(const struct explain *explain, const struct view_loss *loss,
			const char *words, struct text *text, size_t *count)
{
	const struct view_survey *survey = explain->survey;

	begin_reason(text, count);
	if (loss->at_ns > survey->window_start_ns && loss->at_ns <= survey->window_end_ns)
		text_appendf(text, "from %.3f s on ",
			     (double)(loss->at_ns - survey->window_start_ns) / NS_PER_SECOND);
	text_append(text, words);
}

static void append_losses(const struct explain *explain, struct text *text, size_t *count)
{
	const struct view_survey *survey = explain->survey;

	for (size_t i = 0; i < survey->loss_count; i++) {
		const struct view_loss *loss = &survey->losses[i];

		for (size_t r = 0; r < ARRAY_SIZE(reasons); r++)
			if (reasons[r].reason == loss->reason)
				append_loss(explain, loss, reasons[r].words, text, count);
		if (is_switched_off(loss))
			append_loss(explain, loss,
				    "they were switched off, since they cost too much", text,
				    count);
	}
}

void explain_launches_append_share(const struct explain *explain, struct text *text)
{
	text_appendf(text,
		     explain_launches_ended(explain)
			     ? "shares of the %.1f %% of the kernels' time that has a stack of its "
			       "launch: "
			     : "only %.1f %% of the kernels' time has a stack of its launch: ",
		     explain_launches_percent(explain));
}

void explain_launches_append_why(const struct explain *explain, struct text *text)
{
	const struct view_survey *survey = explain->survey;
	size_t count = 0;

	append_losses(explain, text, &count);
	for (size_t i = 0; i < survey->attribute_count; i++) {
		const struct view_attribute *attribute = &survey->attributes[i];

		if (!is_refusal(attribute))
			continue;
		begin_reason(text, &count);
		text_append_terminal(text, attribute->key, strlen(attribute->key));
		text_append(text, " were not taken: ");
		text_append_terminal(text, attribute->value, strlen(attribute->value));
	}
	if ((double)explain->unlaunched_ns >= UNLAUNCHED_LEAST * (double)explain->kernel_ns) {
		begin_reason(text, &count);
		text_appendf(text, "the launches of %.1f %% were not recorded",
			     100.0 * (double)explain->unlaunched_ns / (double)explain->kernel_ns);
	}
	if (!count)
		text_append(text, "the capture does not say");
}
