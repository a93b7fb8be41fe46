/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sentences of findings, with their figures. */
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "explain/explain_parts.h"
#include "reports/shown_name.h"

#define PLACE_COLUMNS  140
#define THREAD_COLUMNS 40
/* Of a finding, those that have a fifth of it and more. */
#define NEXT_COLUMNS	 90
#define PLACES_SAID	 3
#define PLACE_LEAST_PART 5
/* Who called so much of something is told without saying how much. */
#define MOSTLY_PERCENT 95

/* ---- numbers and names for people ---- */

/* Three digits. */
static void append_unit(double value, double step, const char *const *units, size_t count,
			struct text *text)
{
	size_t unit = 0;

	while (unit + 1 < count && value >= step * 0.9995) {
		value /= step;
		unit++;
	}
	if (!unit)
		text_appendf(text, "%.0f %s", value, units[0]);
	else
		text_appendf(text, "%.*f %s",
			     value < 9.995   ? 2
			     : value < 99.95 ? 1
					     : 0,
			     value, units[unit]);
}

void explain_append_time(double ns, struct text *text)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};

	append_unit(ns, 1000, units, ARRAY_SIZE(units), text);
}

void explain_append_bytes(double bytes, struct text *text)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};

	append_unit(bytes, 1000, units, ARRAY_SIZE(units), text);
}

void explain_append_count(u64 count, struct text *text)
{
	char digits[32];
	size_t length = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);

	for (size_t i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			text_append_char(text, ',');
		text_append_char(text, digits[i]);
	}
}

void explain_append_name(const char *name, size_t columns, struct text *text)
{
	struct text shown _cleanup_text_ = {0};

	text->failed |= shown_names(&name, 1, columns, true, &shown) < 0;
	text_append(text, text_string(&shown));
}

/* ---- figures ---- */

typedef void append_figure(const struct explain *explain, const struct explain_said *said,
			   struct text *text);

static const struct explain_evidence *evidence_of(const struct explain *explain,
						  const struct explain_said *said)
{
	return &explain->evidence[said->finding];
}

static void append_cost(const struct explain *explain, const struct explain_said *said,
			struct text *text)
{
	(void)explain;
	explain_append_time(said->cost_ns, text);
}

static void append_finding_count(const struct explain *explain, const struct explain_said *said,
				 struct text *text)
{
	explain_append_count(evidence_of(explain, said)->count, text);
}

static void append_times(const struct explain *explain, const struct explain_said *said,
			 struct text *text)
{
	u64 count = evidence_of(explain, said)->count;

	if (count == 1) {
		text_append(text, "once");
		return;
	}
	explain_append_count(count, text);
	text_append(text, " times");
}

static void append_each(const struct explain *explain, const struct explain_said *said,
			struct text *text)
{
	u64 count = evidence_of(explain, said)->count;

	explain_append_time((double)said->cost_ns / (double)(count ?: 1), text);
}

void explain_append_caller(const struct explain *explain, const struct explain_place *place,
			   struct text *text)
{
	_cleanup_text_ struct text caller = {0};
	u32 percent;

	if (place->what && why_callers_find(&explain->why.callers, explain->view, place->what - 1,
					    &caller, &percent)) {
		text_append(text, ", ");
		if (percent < MOSTLY_PERCENT)
			text_appendf(text, "%u %% ", percent);
		text_append(text, "called by ");
		explain_append_name(text_string(&caller), PLACE_COLUMNS, text);
	}
	text->failed |= caller.failed;
}

static void append_top(const struct explain *explain, const struct explain_places *places,
		       size_t columns, bool with_time, struct text *text)
{
	struct explain_place top;

	if (!explain_places_top(places, &top, 1)) {
		text_append(text, "not known");
		return;
	}
	explain_append_name(explain_place_name(&top), columns, text);
	if (with_time && top.ns) {
		text_append(text, " (");
		explain_append_time(top.ns, text);
		text_append_char(text, ')');
	}
	explain_append_caller(explain, &top, text);
}

/* Is it told what the program did behind a call? Only where samples tell of most of it. */
static bool says_behind(const struct explain_evidence *evidence)
{
	return evidence->behind.names.count &&
	       2 * explain_places_sum(&evidence->behind) >= evidence->idle_ns;
}

/* "; also normalize work.py:20 (275 ms)": places behind the first that have much of it as well. */
static void append_next_places(const struct explain *explain, const struct explain_said *said,
			       struct text *text)
{
	const struct explain_places *places = &evidence_of(explain, said)->places;
	u64 all_ns = said->is_state ? explain_places_sum(places) : said->cost_ns;
	struct explain_place top[PLACES_SAID];
	/* What is behind the call belongs to the first place. */
	bool is_first_alone = explain->brief || says_behind(evidence_of(explain, said));
	size_t count = is_first_alone ? 0 : explain_places_top(places, top, PLACES_SAID);

	for (size_t i = 1; i < count && top[i].ns && top[i].ns >= all_ns / PLACE_LEAST_PART; i++) {
		text_append(text, i == 1 ? "; also " : ", ");
		explain_append_name(explain_place_name(&top[i]), NEXT_COLUMNS, text);
		text_append(text, " (");
		explain_append_time(top[i].ns, text);
		text_append_char(text, ')');
	}
}

static void append_place(const struct explain *explain, const struct explain_said *said,
			 struct text *text)
{
	append_top(explain, &evidence_of(explain, said)->places, PLACE_COLUMNS, true, text);
	append_next_places(explain, said, text);
}

/* "; GPUs are idle for 976 ms behind that in all, more than the call costs: make it faster first" */
static void append_all_of(const struct explain *explain, const struct explain_places *behind,
			  const struct explain_said *said, struct text *text)
{
	const struct explain_places *code = &explain->evidence[EXPLAIN_CODE].places;
	struct explain_place top;
	s64 number;

	if (!explain_places_top(behind, &top, 1))
		return;
	number = string_table_find(&code->names, top.name, strlen(top.name));
	if (number < 0 || top.ns + code->items[number].ns <= said->cost_ns)
		return;
	text_append(text, "; GPUs are idle for ");
	explain_append_time(top.ns + code->items[number].ns, text);
	text_append(text, " behind that in all, more than the call costs: make it faster first");
}

/* ", then mostly decode work.py:11 (train) (2.10 s)" */
static void append_behind(const struct explain *explain, const struct explain_said *said,
			  struct text *text)
{
	const struct explain_evidence *evidence = evidence_of(explain, said);

	if (!says_behind(evidence))
		return;
	text_append(text, ", then mostly ");
	append_top(explain, &evidence->behind, PLACE_COLUMNS, true, text);
	append_all_of(explain, &evidence->behind, said, text);
}

/* " in next_batch (train.py:9)": where most of those that waited did so; nothing where that is not known of most of it. */
static void append_at(const struct explain *explain, const struct explain_said *said,
		      struct text *text)
{
	const struct explain_evidence *evidence = evidence_of(explain, said);

	if (!evidence->at.names.count || 2 * explain_places_sum(&evidence->at) < evidence->idle_ns)
		return;
	text_append(text, " in ");
	append_top(explain, &evidence->at, PLACE_COLUMNS, false, text);
}

static void append_thread(const struct explain *explain, const struct explain_said *said,
			  struct text *text)
{
	append_top(explain, &evidence_of(explain, said)->threads, THREAD_COLUMNS, false, text);
}

static void append_waiter(const struct explain *explain, const struct explain_said *said,
			  struct text *text)
{
	append_top(explain, &evidence_of(explain, said)->waiters, THREAD_COLUMNS, false, text);
}

/* "loader"; of one that is called as who waits for it: "another python3". */
static void append_waited_for(const struct explain *explain, const struct explain_said *said,
			      struct text *text)
{
	const struct explain_evidence *evidence = evidence_of(explain, said);
	struct explain_place thread, waiter;

	if (explain_places_top(&evidence->threads, &thread, 1) &&
	    explain_places_top(&evidence->waiters, &waiter, 1) &&
	    !strcmp(explain_place_name(&thread), explain_place_name(&waiter)))
		text_append(text, "another ");
	append_thread(explain, said, text);
}

static u64 copy_count(const struct explain *explain)
{
	u64 count = 0;

	for (unsigned i = 0; i < COPY_SORTS; i++)
		count += explain->copies[i].count;
	return count;
}

/* What is counted of a finding. */
static u64 counted(const struct explain *explain, enum explain_finding finding)
{
	switch (finding) {
	case EXPLAIN_ALLOCATION:
		return explain->allocation_count;
	case EXPLAIN_SYNC:
		return explain->sync_count;
	case EXPLAIN_READBACK:
		return explain->read_backs.count;
	case EXPLAIN_TINY:
		return explain->copies[COPY_TINY].count;
	case EXPLAIN_PAGEABLE:
		return explain->copies[COPY_PAGEABLE].count;
	default:
		return explain->evidence[finding].count;
	}
}

static void append_per_step(const struct explain *explain, const struct explain_said *said,
			    struct text *text)
{
	u64 count = counted(explain, said->finding);

	if (!explain->steps || !explain->steps->track_count || !explain->steps->tracks[0].count)
		return;
	text_appendf(text, ", %.3g a step", (double)count / explain->steps->tracks[0].count);
}

static void append_operations(const struct explain *explain, const struct explain_said *said,
			      struct text *text)
{
	(void)said;
	explain_append_count(explain->operation_count, text);
}

static void append_mean(double ns, u64 count, struct text *text)
{
	explain_append_time(count ? ns / count : 0, text);
}

static void append_operation_mean(const struct explain *explain, const struct explain_said *said,
				  struct text *text)
{
	(void)said;
	append_mean(explain->operation_ns, explain->operation_count, text);
}

/* From the start of one to that of the next, on one GPU. */
static void append_operation_interval(const struct explain *explain,
				      const struct explain_said *said, struct text *text)
{
	(void)said;
	append_mean(explain->recorded_ns, explain->operation_count, text);
}

static void append_counted(const struct explain *explain, const struct explain_said *said,
			   struct text *text)
{
	explain_append_count(counted(explain, said->finding), text);
}

#define append_allocations append_counted
#define append_syncs	   append_counted
#define append_readbacks   append_counted
#define append_tiny	   append_counted
#define append_pageable	   append_counted

static void append_readback_bytes(const struct explain *explain, const struct explain_said *said,
				  struct text *text)
{
	const struct explain_copies *copies = &explain->read_backs;

	(void)said;
	explain_append_bytes(copies->count ? round((double)copies->bytes / copies->count) : 0,
			     text);
}

static void append_copies(const struct explain *explain, const struct explain_said *said,
			  struct text *text)
{
	(void)said;
	explain_append_count(copy_count(explain), text);
}

/* What is copied most of the sort that the finding is about. */
static void append_copied(const struct explain *explain, const struct explain_said *said,
			  struct text *text)
{
	for (unsigned i = 0; i < COPY_SORTS; i++)
		if (explain_finding_of_copies(i) == said->finding)
			append_top(explain, &explain->copies[i].names, PLACE_COLUMNS, true, text);
}

static void append_copy_bytes(const struct explain *explain, const struct explain_said *said,
			      struct text *text)
{
	u64 bytes = 0;

	(void)said;
	for (unsigned i = 0; i < COPY_SORTS; i++)
		bytes += explain->copies[i].bytes;
	explain_append_bytes(bytes, text);
}

static void append_tiny_bytes(const struct explain *explain, const struct explain_said *said,
			      struct text *text)
{
	(void)explain;
	(void)said;
	text_appendf(text, "%d KiB", EXPLAIN_TINY_BYTES / 1024);
}

static void append_pageable_bytes(const struct explain *explain, const struct explain_said *said,
				  struct text *text)
{
	(void)said;
	explain_append_bytes(explain->copies[COPY_PAGEABLE].bytes, text);
}

static void append_pageable_rate(const struct explain *explain, const struct explain_said *said,
				 struct text *text)
{
	const struct explain_copies *copies = &explain->copies[COPY_PAGEABLE];

	(void)said;
	explain_append_bytes(copies->ns ? copies->bytes * 1e9 / copies->ns : 0, text);
	text_append(text, "/s");
}

static void append_turn_streams(const struct explain *explain, const struct explain_said *said,
				struct text *text)
{
	(void)said;
	explain_append_count(explain->stream_turns.streams, text);
}

static void append_turn_switches(const struct explain *explain, const struct explain_said *said,
				 struct text *text)
{
	(void)said;
	explain_append_count(explain->stream_turns.switches, text);
}

static void append_turn_operations(const struct explain *explain, const struct explain_said *said,
				   struct text *text)
{
	(void)said;
	explain_append_count(explain->stream_turns.operations, text);
}

static void append_state_time(const struct explain *explain, const struct explain_said *said,
			      struct text *text)
{
	explain_append_time(explain->state_ns[said->finding], text);
}

static void append_gpu_memory(const struct explain *explain, const struct explain_said *said,
			      struct text *text)
{
	(void)said;
	explain_append_bytes(explain->memory_used_bytes, text);
	text_append(text, " of ");
	explain_append_bytes(explain->memory_bytes, text);
}

static void append_throttle_reasons(const struct explain *explain, const struct explain_said *said,
				    struct text *text)
{
	/* nvmlClocksThrottleReasons */
	static const struct {
		u64 bit;
		const char *words;
	} reasons[] = {
		{0x4, "the limit of its power"},   {0x8, "its hardware (power or heat)"},
		{0x20, "its temperature"},	   {0x40, "its temperature (hardware)"},
		{0x80, "an external power brake"},
	};
	const char *between = "";

	(void)said;
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (!(explain->throttle_reasons & reasons[i].bit))
			continue;
		text_appendf(text, "%s%s", between, reasons[i].words);
		between = ", ";
	}
}

static void append_throttled_share(const struct explain *explain, const struct explain_said *said,
				   struct text *text)
{
	(void)explain;
	text_appendf(text, "%.0f %%", said->share);
}

static const struct {
	const char *name;
	append_figure *append;
} figures[] = {
#define FIGURE(name, append) {name, append},
#include "explain/figures.def"
};

/* ---- sentences ---- */

static const char *const sentences[EXPLAIN_FINDINGS] = {
#define FINDING(name, tag, least, title, evidence, remedy) [EXPLAIN_##name] = evidence,
#include "explain/findings.def"
};

static const char *const without_gpu[EXPLAIN_FINDINGS] = {
#define WITHOUT_GPU(name, evidence) [EXPLAIN_##name] = evidence,
#include "explain/findings.def"
};

static void append_figure_named(const struct explain *explain, const struct explain_said *said,
				const char *name, size_t length, struct text *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(figures); i++) {
		if (strlen(figures[i].name) == length && !memcmp(figures[i].name, name, length)) {
			figures[i].append(explain, said, text);
			return;
		}
	}
}

void explain_finding_append(const struct explain *explain, const struct explain_said *said,
			    struct text *text)
{
	const char *rest = explain->has_gpu || said->is_state ? sentences[said->finding]
							      : without_gpu[said->finding];

	while (*rest) {
		size_t before = strcspn(rest, "{"), length;

		text_append_bytes(text, rest, before);
		rest += before;
		if (!*rest)
			break;
		length = strcspn(++rest, "}");
		append_figure_named(explain, said, rest, length, text);
		rest += length + (rest[length] == '}');
	}
}
