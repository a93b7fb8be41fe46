/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdict for programs: docs/formats/explain.md. */
#include <errno.h>
#include <math.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "explain/explain_parts.h"

#define TOP_MOST 10

static void append_key(struct text *text, const char *key, bool first)
{
	text_append(text, first ? "" : ",");
	json_append_string(text, key);
	text_append_char(text, ':');
}

static void append_number(struct text *text, const char *key, u64 value)
{
	append_key(text, key, false);
	json_append_number(text, value);
}

static void append_percent(struct text *text, const char *key, double value)
{
	append_key(text, key, false);
	text_appendf(text, "%.2f", value);
}

static void append_string(struct text *text, const char *key, const char *value)
{
	append_key(text, key, false);
	json_append_string(text, value);
}

/* Nobody, of 0 percent, where that is not known. */
static void append_caller(const struct explain *explain, const struct explain_place *place,
			  struct text *text)
{
	_cleanup_text_ struct text caller = {0};
	u32 percent = 0;
	bool known = place->what && why_callers_find(&explain->why.callers, explain->view,
						     place->what - 1, &caller, &percent);

	append_string(text, "called_by", known ? text_string(&caller) : "");
	append_number(text, "called_by_percent", known ? percent : 0);
	text->failed |= caller.failed;
}

static void append_places(const struct explain *explain, const char *key, bool with_callers,
			  const struct explain_places *places, struct text *text)
{
	struct explain_place top[TOP_MOST];
	size_t count = explain_places_top(places, top, TOP_MOST);

	append_key(text, key, false);
	text_append_char(text, '[');
	for (size_t i = 0; i < count; i++) {
		text_append(text, i ? ",{" : "{");
		append_key(text, "name", true);
		json_append_string(text, explain_place_name(&top[i]));
		append_number(text, "ns", top[i].ns);
		append_number(text, "count", top[i].count);
		if (with_callers)
			append_caller(explain, &top[i], text);
		text_append_char(text, '}');
	}
	text_append_char(text, ']');
}

static void append_process(const struct explain_process *process, struct text *text)
{
	text_append_char(text, '{');
	append_key(text, "pid", true);
	text_appendf(text, "%u", process->pid);
	append_string(text, "name", process->name);
	append_key(text, "frameworks", false);
	text_append_char(text, '[');
	for (size_t i = 0; i < EXPLAIN_FRAMEWORKS_MAX && process->frameworks[i]; i++) {
		text_append(text, i ? "," : "");
		json_append_string(text, process->frameworks[i]);
	}
	text_append_char(text, ']');
	append_string(text, "rank", process->rank ?: "");
	append_string(text, "cuda", process->cuda ?: "");
	append_string(text, "driver", process->driver ?: "");
	text_append_char(text, '}');
}

static void append_processes(const struct explain *explain, struct text *text)
{
	struct explain_process processes[EXPLAIN_PROCESSES_MAX];
	size_t count = explain_processes(explain, processes);

	append_number(text, "process_count", count);
	append_key(text, "processes", false);
	text_append_char(text, '[');
	for (size_t i = 0; i < count && i < EXPLAIN_PROCESSES_MAX; i++) {
		text_append(text, i ? "," : "");
		append_process(&processes[i], text);
	}
	text_append_char(text, ']');
}

static void append_gpus(const struct explain *explain, struct text *text)
{
	append_key(text, "gpus", false);
	text_append_char(text, '[');
	for (size_t i = 0; i < explain->why.gpu_count; i++) {
		const struct why_gpu *gpu = &explain->why.gpus[i];
		_cleanup_text_ struct text users = {0};

		text_append(text, i ? ",{" : "{");
		append_key(text, "name", true);
		json_append_string(text, view_device_name(explain->view, gpu->device) ?: "");
		append_number(text, "number", gpu->number);
		append_number(text, "recorded_ns", gpu->recorded_ns);
		append_number(text, "busy_ns", gpu->busy_ns);
		append_number(text, "idle_ns", gpu->recorded_ns - gpu->busy_ns - gpu->unseen_ns);
		append_number(text, "not_known_ns", gpu->unseen_ns);
		view_append_gpu_users(explain->view, gpu->device, &users);
		append_string(text, "used_too_by", text_string(&users));
		text->failed |= users.failed;
		append_number(text, "lost_records",
			      view_gpu_records_lost(explain->view, gpu->device));
		text_append_char(text, '}');
	}
	text_append_char(text, ']');
}

static void append_slow_part(const struct explain_slow *slow, unsigned part, struct text *text)
{
	double slow_ns = round(slow->parts[part].slow_ns);
	double typical_ns = round(slow->parts[part].typical_ns);
	const struct explain_place *place = explain_slow_place(slow, part);

	text_append_char(text, '{');
	append_key(text, "tag", true);
	json_append_string(text, explain_slow_tag(part));
	append_string(text, "title", explain_slow_title(part));
	append_key(text, "longer_ns", false);
	text_appendf(text, "%.0f", slow_ns - typical_ns);
	append_number(text, "slow_ns", (u64)slow_ns);
	append_number(text, "typical_ns", (u64)typical_ns);
	append_string(text, "place", place ? explain_place_name(place) : "");
	text_append_char(text, '}');
}

static void append_slow(const struct explain_slow *slow, struct text *text)
{
	unsigned parts[EXPLAIN_SLOW_PARTS];
	size_t count = explain_slow_sort(slow, parts);

	append_key(text, "slow", false);
	if (!slow->count) {
		text_append(text, "null");
		return;
	}
	text_append_char(text, '{');
	append_key(text, "count", true);
	json_append_number(text, slow->count);
	append_number(text, "mean_ns", slow->mean_ns);
	append_number(text, "typical_count", slow->typical_count);
	append_number(text, "typical_mean_ns", slow->typical_mean_ns);
	append_key(text, "parts", false);
	text_append_char(text, '[');
	for (size_t i = 0; i < count; i++) {
		text_append(text, i ? "," : "");
		append_slow_part(slow, parts[i], text);
	}
	text_append(text, "]}");
}

static void append_typical(const struct explain_slow *slow, struct text *text)
{
	unsigned parts[EXPLAIN_SLOW_PARTS];
	size_t count = explain_typical_sort(slow, parts);
	bool any = false;

	append_key(text, "typical", false);
	if (!slow->typical_count) {
		text_append(text, "null");
		return;
	}
	text_append_char(text, '{');
	append_key(text, "count", true);
	json_append_number(text, slow->typical_count);
	append_number(text, "mean_ns", slow->typical_mean_ns);
	append_key(text, "parts", false);
	text_append_char(text, '[');
	for (size_t i = 0; i < count; i++) {
		u64 ns = (u64)round(slow->parts[parts[i]].typical_ns);

		if (!ns)
			continue;
		text_append(text, any ? ",{" : "{");
		append_key(text, "tag", true);
		json_append_string(text, explain_slow_tag(parts[i]));
		append_string(text, "title", explain_slow_title(parts[i]));
		append_number(text, "ns", ns);
		text_append_char(text, '}');
		any = true;
	}
	text_append(text, "]}");
}

static void append_steps(const struct explain *explain, struct text *text)
{
	struct explain_steps steps;

	append_key(text, "steps", false);
	if (!explain_steps_sum(explain, &steps)) {
		text_append(text, "null");
		return;
	}
	text_append_char(text, '{');
	append_key(text, "count", true);
	json_append_number(text, steps.count);
	append_number(text, "mean_ns", steps.mean_ns);
	append_number(text, "p50_ns", steps.p50_ns);
	append_number(text, "p95_ns", steps.p95_ns);
	append_number(text, "gpu_busy_mean_ns", steps.busy_mean_ns);
	append_typical(&explain->slow, text);
	append_slow(&explain->slow, text);
	text_append_char(text, '}');
}

static void append_finding(const struct explain *explain, const struct explain_said *said,
			   struct text *text)
{
	const struct explain_evidence *evidence = &explain->evidence[said->finding];
	_cleanup_text_ struct text sentence = {0};

	explain_finding_append(explain, said, &sentence);
	text_append_char(text, '{');
	append_key(text, "tag", true);
	json_append_string(text, explain_finding_tag(said->finding));
	append_string(text, "title", explain_finding_title(said->finding));
	append_key(text, "is_fault", false);
	text_append(text, explain_finding_is_fault(said->finding) ? "true" : "false");
	append_number(text, "cost_ns", said->cost_ns);
	append_percent(text, "share_percent", said->share);
	append_number(text, "idle_ns", evidence->idle_ns);
	append_number(text, "busy_ns", evidence->busy_ns);
	append_number(text, "count", evidence->count);
	append_number(text, "thread_count", evidence->thread_count);
	append_string(text, "known_by", explain_finding_known_by(explain, said));
	append_string(text, "evidence", text_string(&sentence));
	append_string(text, "try", explain_finding_remedy(said->finding));
	append_places(explain, "places", true, &evidence->places, text);
	append_places(explain, "threads", false, &evidence->threads, text);
	text_append_char(text, '}');
	text->failed |= sentence.failed;
}

/* With the findings and what is not known they add up to all of it. */
static u64 idle_of_others(const struct explain *explain, const struct explain_said *said,
			  size_t count)
{
	u64 idle_ns = 0;

	for (size_t i = 0; i < EXPLAIN_FINDINGS; i++)
		idle_ns += explain->evidence[i].idle_ns;
	for (size_t i = 0; i < count; i++)
		idle_ns -= explain->evidence[said[i].finding].idle_ns;
	return idle_ns;
}

static void append_findings(const struct explain *explain, struct text *text)
{
	struct explain_said said[EXPLAIN_FINDINGS];
	size_t count = explain_findings_choose(explain, said);

	append_key(text, "findings", false);
	text_append_char(text, '[');
	for (size_t i = 0; i < count; i++) {
		text_append(text, i ? "," : "");
		append_finding(explain, &said[i], text);
	}
	text_append_char(text, ']');
	append_number(text, "idle_other_ns", idle_of_others(explain, said, count));
}

static void append_switched_off(const struct explain *explain, struct text *text)
{
	const struct view_survey *survey = explain->survey;
	size_t count = 0;

	append_key(text, "switched_off", false);
	text_append_char(text, '[');
	for (size_t i = 0; i < survey->loss_count; i++) {
		if (survey->losses[i].reason != VALUE_loss_reason_switched_off)
			continue;
		text_append(text, count++ ? "," : "");
		json_append_string(text, survey->losses[i].place);
	}
	text_append_char(text, ']');
}

static void append_missing(const struct explain *explain, struct text *text)
{
	struct explain_missing missing;
	size_t position = 0;

	append_key(text, "gpu_missing", false);
	text_append_char(text, '[');
	for (size_t i = 0; explain_missing_next(explain, &position, &missing); i++) {
		text_append(text, i ? ",{" : "{");
		append_key(text, "process", true);
		json_append_string(text, missing.process);
		append_number(text, "count", missing.count);
		append_string(text, "why", missing.why ?: "");
		append_string(text, "try", missing.remedy);
		text_append_char(text, '}');
	}
	text_append_char(text, ']');
}

static void append_launches(const struct explain *explain, struct text *text)
{
	_cleanup_text_ struct text why = {0};

	append_key(text, "launch_stacks", false);
	if (!explain_launches_wanted(explain)) {
		text_append(text, "null");
		return;
	}
	text_append_char(text, '{');
	append_key(text, "percent", true);
	text_appendf(text, "%.2f", explain_launches_percent(explain));
	if (explain->stacked_ns < explain->kernel_ns)
		explain_launches_append_why(explain, &why);
	append_string(text, "why", text_string(&why));
	text_append_char(text, '}');
	text->failed |= why.failed;
}

int explain_append_json(const struct explain *explain, struct text *text)
{
	const struct view_survey *survey = explain->survey;

	text_append_char(text, '{');
	append_key(text, "schema", true);
	json_append_string(text, "gpuprobe explain 1");
	append_number(text, "window_ns", survey->window_end_ns - survey->window_start_ns);
	append_key(text, "complete", false);
	text_append(text, view_is_complete(survey) ? "true" : "false");
	append_key(text, "cut", false);
	text_append(text, survey->cut ? "true" : "false");
	append_missing(explain, text);
	append_switched_off(explain, text);
	append_percent(text, "recording_percent", explain_cost_percent(explain));
	append_processes(explain, text);
	append_gpus(explain, text);
	append_number(text, "recorded_ns", explain->recorded_ns);
	append_number(text, "busy_ns", explain->busy_ns);
	append_number(text, "not_known_ns", explain->unseen_ns);
	append_number(text, "idle_unknown_ns", explain->unknown_ns);
	append_steps(explain, text);
	append_findings(explain, text);
	append_places(explain, "kernels", false, &explain->kernels, text);
	append_places(explain, "code", false, &explain->code, text);
	if (explain->ranges.items)
		append_places(explain, "ranges", false, &explain->ranges, text);
	append_launches(explain, text);
	append_number(text, "gpu_memory_used_bytes", explain->memory_used_bytes);
	append_number(text, "gpu_memory_bytes", explain->memory_bytes);
	append_number(text, "resident_bytes", explain->resident_bytes);
	text_append(text, "}\n");
	return text->failed ? -ENOMEM : 0;
}
