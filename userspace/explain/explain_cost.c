/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What recording took of the CPU time of the targets: of a capture in which several recordings are, of all of them. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
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

/* Of each recording, which is told by its source, the last share: its place among these facts. 0 or -ENOMEM. */
static int find_shares(const struct view *view, const struct record_header *const *facts,
		       size_t count, struct map *ret_last)
{
	for (size_t i = 0; i < count; i++)
		if (is_share(view, facts[i]) && map_set(ret_last, facts[i]->source, 0, i))
			return -ENOMEM;
	return 0;
}

/* CPU time of the targets, of each recording. 0 or -ENOMEM. */
static int find_cpu(const struct view *view, struct map *ret_cpu_ns)
{
	size_t count;
	const struct record_header *const *facts = view_facts(view, KIND_probe_cost, &count);

	for (size_t i = 0; i < count; i++) {
		u64 cpu_ns = ((const struct record_probe_cost *)facts[i])->cpu_ns;

		if (cpu_ns && cpu_ns != ~0ULL && map_set(ret_cpu_ns, facts[i]->source, 0, cpu_ns))
			return -ENOMEM;
	}
	return 0;
}

double explain_cost_percent(const struct explain *explain)
{
	const struct view *view = explain->view;
	_cleanup_map_ struct map last = {0}, cpu_ns = {0};
	double cost = 0, cpu = 0, share = 0;
	size_t count, shares = 0;
	const struct record_header *const *facts = view_facts(view, KIND_attribute, &count);

	if (find_shares(view, facts, count, &last) || find_cpu(view, &cpu_ns))
		return 0;
	for (size_t i = 0; i < count; i++) {
		const u64 *of, *place = map_find(&last, facts[i]->source, 0);

		if (!place || *place != i)
			continue;
		share = percent_of(view, facts[i]);
		shares++;
		of = map_find(&cpu_ns, facts[i]->source, 0);
		cost += of ? share * (double)*of : 0;
		cpu += of ? (double)*of : 0;
	}
	if (shares == 1)
		return share;
	return cpu > 0 ? cost / cpu : 0;
}
