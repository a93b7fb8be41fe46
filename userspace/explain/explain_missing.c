/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes whose GPU work is not in the capture: a verdict on a service whose GPU nobody watched is not one on its GPU. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "explain/explain_parts.h"

static const struct {
	const char *glob, *words;
} remedies[] = {
#define REMEDY(glob, words) {glob, words},
#include "explain/missing.def"
};

#define HANDED_OVER_NOTHING "its agent ended before CUPTI had handed over any work of a GPU"

/* Of several nobody knows, each may have one of its own. */
static const char *remedy_for(const char *why)
{
	for (size_t i = 0; why && i < ARRAY_SIZE(remedies); i++)
		if (fnmatch(remedies[i].glob, why, 0) == 0)
			return remedies[i].words;
	return "start them by gpuprobe -- COMMAND, where the driver brings the agent along";
}

bool explain_missing_next(const struct explain *explain, size_t *position,
			  struct explain_missing *ret_missing)
{
	const struct view_survey *survey = explain->survey;

	while (*position < survey->loss_count) {
		const struct view_loss *loss = &survey->losses[(*position)++];
		char name[160];

		/* Of which nothing came, it came of nobody. */
		if (loss->reason == VALUE_loss_reason_agent_cut && !explain->has_gpu) {
			*ret_missing = (struct explain_missing){
				.process = loss->place,
				.count = loss->count,
				.why = HANDED_OVER_NOTHING,
				.remedy = remedy_for(HANDED_OVER_NOTHING),
			};
			return true;
		}
		if (loss->reason != VALUE_loss_reason_gpu_times_missing)
			continue;
		snprintf(name, sizeof(name), "GPU times of %s", loss->place);
		*ret_missing = (struct explain_missing){
			.process = loss->place,
			.count = loss->count,
			.why = view_attribute(explain->view, "failure", name),
		};
		ret_missing->remedy = remedy_for(ret_missing->why);
		return true;
	}
	return false;
}

u64 explain_untold_ns(const struct explain *explain)
{
	const struct why *why = &explain->why;
	u64 ns = 0;

	if (view_kind_count(explain->view, KIND_sample))
		return 0;
	for (size_t i = 0; i < why->count; i++)
		if (why->causes[i].sort == WHY_UNSAMPLED || why->causes[i].sort == WHY_CODE_OR_WAIT)
			ns += why->causes[i].ns;
	return ns;
}
