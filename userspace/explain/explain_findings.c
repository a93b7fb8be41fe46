/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which findings there are. */
#include <stdlib.h>
#include <string.h>

#include "explain/explain_parts.h"

static const struct {
	const char *tag, *title, *remedy;
	double least;
	bool is_state, is_description, is_without_gpu;
} findings[EXPLAIN_FINDINGS] = {
#define FINDING(name, tag_, least_, title_, evidence, remedy_)        \
	[EXPLAIN_##name].tag = tag_, [EXPLAIN_##name].title = title_, \
	[EXPLAIN_##name].remedy = remedy_, [EXPLAIN_##name].least = least_,
#define STATE(name, tag_, least_, title_, evidence, remedy_) \
	FINDING(name, tag_, least_, title_, evidence, remedy_)[EXPLAIN_##name].is_state = true,
#define DESCRIPTION(name, tag_, least_, title_, evidence, remedy_) \
	FINDING(name, tag_, least_, title_, evidence, remedy_)     \
	[EXPLAIN_##name].is_description = true,
#define WITHOUT_GPU(name, evidence) [EXPLAIN_##name].is_without_gpu = true,
#include "explain/findings.def"
};

const char *explain_finding_tag(enum explain_finding finding)
{
	return findings[finding].tag;
}

const char *explain_finding_title(enum explain_finding finding)
{
	return findings[finding].title;
}

const char *explain_finding_remedy(enum explain_finding finding)
{
	return findings[finding].remedy;
}

bool explain_finding_is_fault(enum explain_finding finding)
{
	return !findings[finding].is_description;
}

const char *explain_finding_known_by(const struct explain *explain, const struct explain_said *said)
{
	const struct explain_evidence *evidence = &explain->evidence[said->finding];
	u64 seen_ns = evidence->seen_ns + evidence->busy_ns;

	if (said->is_state || 2 * seen_ns >= said->cost_ns)
		return "seen";
	return 2 * (seen_ns + evidence->sampled_ns) >= said->cost_ns ? "sampled" : "inferred";
}

static double state_share(const struct explain *explain, enum explain_finding finding)
{
	if (finding == EXPLAIN_MEMORY && explain->memory_bytes)
		return 100.0 * explain->memory_used_bytes / explain->memory_bytes;
	if (finding == EXPLAIN_CLOCKS && explain->readings)
		return 100.0 * explain->throttled_readings / explain->readings;
	return explain->recorded_ns ? 100.0 * explain->state_ns[finding] / explain->recorded_ns : 0;
}

static struct explain_said say(const struct explain *explain, enum explain_finding finding)
{
	const struct explain_evidence *evidence = &explain->evidence[finding];
	struct explain_said said = {.finding = finding, .is_state = findings[finding].is_state};

	if (said.is_state) {
		said.share = state_share(explain, finding);
		return said;
	}
	said.cost_ns = evidence->idle_ns + evidence->busy_ns;
	said.share = explain->recorded_ns ? 100.0 * said.cost_ns / explain->recorded_ns : 0;
	return said;
}

static int compare(const void *a, const void *b)
{
	const struct explain_said *left = a, *right = b;

	if (left->is_state != right->is_state)
		return left->is_state ? 1 : -1;
	if (left->cost_ns != right->cost_ns)
		return left->cost_ns < right->cost_ns ? 1 : -1;
	return left->finding < right->finding ? -1 : 1;
}

size_t explain_findings_choose(const struct explain *explain,
			       struct explain_said ret_said[EXPLAIN_FINDINGS])
{
	size_t count = 0;

	for (enum explain_finding i = 0; i < EXPLAIN_FINDINGS; i++) {
		struct explain_said said = say(explain, i);

		if (!explain->has_gpu && !said.is_state && !findings[i].is_without_gpu)
			continue;
		if (said.share >= findings[i].least)
			ret_said[count++] = said;
	}
	qsort(ret_said, count, sizeof(*ret_said), compare);
	return count;
}

void explain_size_append(const struct explain *explain, const struct explain_said *said,
			 struct text *text)
{
	u64 threads = explain->evidence[said->finding].thread_count;

	if (said->is_state)
		return;
	if (!threads || (threads == 1 && said->share <= 100)) {
		text_appendf(text, "%.1f %%: ", said->share);
		return;
	}
	explain_append_time(said->cost_ns, text);
	if (threads > 1) {
		text_append(text, " in ");
		explain_append_count(threads, text);
		text_append(text, " threads");
	}
	text_append(text, ": ");
}
