/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What recording took of the CPU time of the targets, and of one CPU: of a capture that holds several recordings, where it was most. */
#include <stdlib.h>
#include <string.h>

#include "explain/explain_parts.h"

/* Of no recording. */
#define PERCENT_MAX 1e6

static bool is_share(const struct view *view, const struct record_header *fact)
{
	const char *key = view_text(view, fact->name);

	return ((const struct record_attribute *)fact)->group == VALUE_attribute_group_result &&
	       key && !strcmp(key, "estimated overhead (% of the targets' CPU time)");
}

/* 0: not known. */
static double percent_of(const struct view *view, const struct record_header *fact)
{
	const char *value = view_text(view, ((const struct record_attribute *)fact)->value);
	double percent = value ? strtod(value, NULL) : 0;

	return percent > 0 && percent < PERCENT_MAX ? percent : 0;
}

double explain_cost_percent(const struct explain *explain)
{
	double most = 0;
	size_t count;
	const struct record_header *const *facts =
		view_facts(explain->view, KIND_attribute, &count);

	for (size_t i = 0; i < count; i++) {
		double percent =
			is_share(explain->view, facts[i]) ? percent_of(explain->view, facts[i]) : 0;

		most = percent > most ? percent : most;
	}
	return most;
}

/* Of all targets of a recording, where that was most. */
static u64 most_cpu_ns(const struct view *view)
{
	u64 most_ns = 0;
	size_t count;
	const struct record_header *const *facts = view_facts(view, KIND_probe_cost, &count);

	for (size_t i = 0; i < count; i++) {
		u64 cpu_ns = ((const struct record_probe_cost *)facts[i])->cpu_ns;

		if (cpu_ns != ~0ULL && cpu_ns > most_ns)
			most_ns = cpu_ns;
	}
	return most_ns;
}

/* Of the shortest recording: a capture that was merged has several. */
static u64 least_window_ns(const struct explain *explain)
{
	u64 least_ns = explain->survey->window_end_ns - explain->survey->window_start_ns;
	size_t count;
	const struct record_header *const *facts = view_facts(explain->view, KIND_window, &count);

	for (size_t i = 0; i < count; i++)
		if (facts[i]->dur && facts[i]->dur < least_ns)
			least_ns = facts[i]->dur;
	return least_ns;
}

double explain_cost_of_one_cpu_percent(const struct explain *explain)
{
	u64 window_ns = least_window_ns(explain);

	return window_ns ? explain_cost_percent(explain) * (double)most_cpu_ns(explain->view) /
				   (double)window_ns
			 : 0;
}
