/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computed values of what was only counted or sampled, and of what recording cost. */
#include "base/text.h"
#include "view/view_parts.h"

struct view_value view_compute_probing_percent(const struct view *view,
					       const struct view_event *event)
{
	const struct record_probing *probing = (const struct record_probing *)event->record;

	if (probing->cost_ns == ~0ULL || probing->cpu_ns == ~0ULL || !probing->cpu_ns)
		return value_absent();
	return value_decimal(100.0 * (double)probing->cost_ns / (double)probing->cpu_ns);
}

struct view_value view_compute_weight(const struct view *view, const struct view_event *event)
{
	return value_u64(event->weight_ns);
}

struct view_value view_compute_average(const struct view *view, const struct view_event *event)
{
	const struct record_function_total *total =
		(const struct record_function_total *)event->record;

	if (!total->timed_calls || total->timed_calls == ~0ULL || total->time_ns == ~0ULL)
		return value_absent();
	return value_decimal((double)total->time_ns / (double)total->timed_calls);
}

static void append_duration(struct text *text, u64 ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	double value = (double)ns;
	unsigned unit = 0;

	while (value >= 1000 && unit + 1 < ARRAY_SIZE(units)) {
		value /= 1000;
		unit++;
	}
	text_appendf(text, "%.3g %s", value, units[unit]);
}

/* "from 512 ns: 17, from 1.02 us: 3": of each bucket that has any. */
struct view_value view_compute_distribution(const struct view *view, const struct view_event *event)
{
	const struct record_function_total *total =
		(const struct record_function_total *)event->record;
	struct text text _cleanup_text_ = {0};

	for (unsigned i = 0; i < ARRAY_SIZE(total->buckets); i++) {
		if (!total->buckets[i])
			continue;
		text_append(&text, text.length ? ", from " : "from ");
		append_duration(&text, i ? 1ULL << i : 0);
		text_appendf(&text, ": %llu", (unsigned long long)total->buckets[i]);
	}
	if (!text.length || text.failed)
		return value_absent();
	return value_string(view_intern(view, text.data, text.length));
}
