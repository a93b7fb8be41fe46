/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdict for people, as text or Markdown. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/price.h"
#include "explain/explain_parts.h"

#define TOP_MOST      5
#define FINDINGS_MOST 5
#define NAME_COLUMNS  72
/* Of a GPU: what is less changes no figure that is shown. */
#define UNSEEN_LEAST_PERCENT 0.05
/* Of what is longer in slow steps; a part of all that. */
#define SLOW_MOST     4
#define SLOW_LEAST    0.1
#define TYPICAL_LEAST 0.05

struct page {
	const struct explain *explain;
	const struct explain_style *style;
	struct text *text;
};

static bool is_markdown(const struct page *page)
{
	return page->style->format == EXPLAIN_MARKDOWN;
}

static size_t columns_of(const struct page *page)
{
	return page->style->columns ?: EXPLAIN_COLUMNS;
}

/* A paragraph, its lines behind the first one with more room in front; of Markdown one line. */
static void append_wrapped(const struct page *page, const char *first, const char *others,
			   const char *words)
{
	text_append_wrapped(page->text, first, others,
			    is_markdown(page) ? SIZE_MAX : columns_of(page), words);
}

/* A paragraph of its own, in Markdown of a list. */
static void append_item(const struct page *page, struct text *words)
{
	append_wrapped(page, is_markdown(page) ? "- " : "", "   ", text_string(words));
	page->text->failed |= words->failed;
}

static void append_heading(const struct page *page, const char *words)
{
	text_appendf(page->text, is_markdown(page) ? "\n## %s\n\n" : "\n%s\n", words);
}

/* ---- what it is ---- */

static void append_about(const struct page *page)
{
	const struct view_survey *survey = page->explain->survey;
	struct explain_process processes[EXPLAIN_PROCESSES_MAX];
	size_t count = explain_processes(page->explain, processes);
	size_t most = page->style->brief ? 1 : EXPLAIN_PROCESSES_MAX;

	if (is_markdown(page))
		text_append(page->text, "# What the capture says\n\n");
	if (survey->cut)
		append_wrapped(page, is_markdown(page) ? "- " : "", "   ", VIEW_CUT_SHORT);
	for (size_t i = 0; i < count && i < most; i++) {
		_cleanup_text_ struct text line = {0};

		explain_process_append(&processes[i], &line);
		if (!i) {
			text_append(&line, "; ");
			explain_append_time(survey->window_end_ns - survey->window_start_ns, &line);
			text_append(&line, " recorded");
		}
		if (i + 1 == most && count > most)
			text_appendf(&line, "; and %zu more process%s", count - most,
				     count - most == 1 ? "" : "es");
		append_item(page, &line);
	}
}

#define WITHOUT_GPU_SHOWN 3

static void append_without(const struct page *page, const struct explain_missing *missing)
{
	_cleanup_text_ struct text line = {0}, remedy = {0};

	text_append(&line, "what GPUs did for ");
	explain_append_name(missing->process, NAME_COLUMNS, &line);
	if (missing->count > 1)
		text_appendf(&line, ", %llu processes,", (unsigned long long)missing->count);
	text_append(&line, " was not recorded");
	text_append(&line, page->style->brief ? "" : ", and nothing here tells of it: ");
	if (!page->style->brief && missing->why)
		text_append_terminal(&line, missing->why, strlen(missing->why));
	else if (!page->style->brief)
		text_append(&line, "gpuprobe stats -r ledger");
	append_item(page, &line);
	text_appendf(&remedy, "try: %s", missing->remedy);
	if (!page->style->brief)
		append_wrapped(page, is_markdown(page) ? "  " : "   ", "        ",
			       text_string(&remedy));
	page->text->failed |= line.failed || remedy.failed;
}

/* First of all. */
static void append_without_gpu(const struct page *page)
{
	size_t most = page->style->brief ? 1 : WITHOUT_GPU_SHOWN, position = 0;
	struct explain_missing missing;

	for (size_t i = 0; i < most && explain_missing_next(page->explain, &position, &missing);
	     i++)
		append_without(page, &missing);
}

/* Where it is much of what the program seems to do. */
static void append_cost(const struct page *page)
{
	double percent = explain_cost_percent(page->explain);
	double of_one_cpu = explain_cost_of_one_cpu_percent(page->explain);
	bool of_little = price_is_of_little(percent, of_one_cpu);
	_cleanup_text_ struct text line = {0};

	if (percent < PRICE_LEAST_PERCENT)
		return;
	if (percent >= 100 && of_little)
		text_appendf(&line,
			     "recording took %.1f %% of one CPU, about all of the CPU time that is "
			     "told of here (",
			     of_one_cpu);
	else if (percent < 100)
		text_appendf(&line,
			     "recording took about %.0f %% of the CPU time that is told of here (",
			     percent);
	else
		text_appendf(&line,
			     "recording took nearly all of the CPU time that is told of here (%.0f "
			     "%% by an estimate, ",
			     percent);
	if (of_little && percent < 100)
		text_appendf(&line, "%.1f %% of one CPU, ", of_one_cpu);
	text_appendf(&line, "gpuprobe stats -r overhead)%s", of_little ? "" : ": record less");
	append_item(page, &line);
}

static void append_gpu(const struct page *page, const struct why_gpu *gpu)
{
	const char *name = view_device_name(page->explain->view, gpu->device);
	double recorded_ns = gpu->recorded_ns ?: 1;
	double unseen = 100.0 * gpu->unseen_ns / recorded_ns;
	_cleanup_text_ struct text doubts = {0}, line = {0};
	bool doubtful = view_append_gpu_doubts(page->explain->view, gpu->device, &doubts);

	text_append_terminal(&line, name ?: "GPU", strlen(name ?: "GPU"));
	text_appendf(&line, ": busy %.1f %%, idle %.1f %% of ", 100.0 * gpu->busy_ns / recorded_ns,
		     100.0 * (gpu->recorded_ns - gpu->busy_ns - gpu->unseen_ns) / recorded_ns);
	explain_append_time(gpu->recorded_ns, &line);
	if (unseen >= UNSEEN_LEAST_PERCENT)
		text_appendf(&line, ", %.1f %% not known", unseen);
	if (doubtful)
		text_appendf(&line, "%s not known to be idle: %s",
			     unseen >= UNSEEN_LEAST_PERCENT ? "; the idle time is" : ", but",
			     text_string(&doubts));
	append_item(page, &line);
	page->text->failed |= doubts.failed;
}

static void append_no_work(const struct page *page)
{
	const struct view_survey *survey = page->explain->survey;
	_cleanup_text_ struct text line = {0};

	text_append(&line, "GPU: no work in ");
	explain_append_time(survey->window_end_ns - survey->window_start_ns, &line);
	text_append(&line, ", so far as these processes are recorded");
	append_item(page, &line);
}

/* By their numbers. */
static void append_gpus(const struct page *page)
{
	const struct why *why = &page->explain->why;
	size_t most = page->style->brief ? 2 : why->gpu_count, shown = 0;
	struct explain_missing missing;
	size_t position = 0;

	if (!page->explain->has_gpu && !page->explain->launched &&
	    explain_gpu_is_recorded(page->explain) &&
	    !explain_missing_next(page->explain, &position, &missing))
		append_no_work(page);
	for (u64 number = 0; number <= UINT32_MAX && shown < most; number++) {
		u64 next = UINT64_MAX;

		for (size_t i = 0; i < why->gpu_count; i++) {
			if (why->gpus[i].number == number && shown++ < most)
				append_gpu(page, &why->gpus[i]);
			if (why->gpus[i].number > number && why->gpus[i].number < next)
				next = why->gpus[i].number;
		}
		if (next == UINT64_MAX)
			break;
		number = next - 1;
	}
	if (why->gpu_count > most)
		text_appendf(page->text, "and %zu more GPUs: -r gpu_busy_sum\n",
			     why->gpu_count - most);
}

static void append_steps(const struct page *page)
{
	_cleanup_text_ struct text line = {0};
	struct explain_steps steps;

	if (!explain_steps_sum(page->explain, &steps))
		return;
	explain_append_count(steps.count, &line);
	text_append(&line, steps.count == 1 ? " step" : " steps");
	if (page->explain->steps->track_count > 1)
		text_appendf(
			&line, " in %s (%u)",
			page->explain->survey->rows[page->explain->steps->tracks[0].row_index].name,
			page->explain->steps->tracks[0].tid);
	text_append(&line, " of ");
	explain_append_time(steps.mean_ns, &line);
	text_append(&line, " (p95 ");
	explain_append_time(steps.p95_ns, &line);
	text_append(&line, ")");
	if (page->explain->has_gpu) {
		bool are_several = page->explain->why.gpu_count > 1;

		text_append(&line, are_several ? ", GPUs busy for " : ", the GPU busy for ");
		explain_append_time(steps.busy_mean_ns, &line);
		text_append(&line, are_several ? ", added up, with the work of each"
					       : " with the work of each");
		if (!are_several && steps.busy_mean_ns > steps.mean_ns)
			text_append(&line, ", behind its end too");
	}
	append_item(page, &line);
}

/* "1.2 ms threads wait for a CPU, most behind poll (loader)" */
static void append_slow_part(const struct explain *explain, unsigned part, bool with_caller,
			     struct text *line)
{
	const struct explain_slow *slow = &explain->slow;
	const struct explain_slow_part *times = &slow->parts[part];
	const struct explain_place *place = explain_slow_place(slow, part);

	explain_append_time(times->slow_ns - times->typical_ns, line);
	text_appendf(line, " %s", explain_slow_title(part));
	if (!place || part == EXPLAIN_SLOW_UNKNOWN)
		return;
	text_append(line, ", most ");
	explain_append_name(explain_place_name(place), NAME_COLUMNS, line);
	if (with_caller)
		explain_append_caller(explain, place, line);
}

/* Where the time of a typical step went, as far as it is much of it. */
static void append_typical(const struct page *page)
{
	const struct explain_slow *slow = &page->explain->slow;
	_cleanup_text_ struct text line = {0};
	unsigned parts[EXPLAIN_SLOW_PARTS];
	size_t count = explain_typical_sort(slow, parts);

	if (!slow->typical_count || !count)
		return;
	text_append(&line, "one around the median takes ");
	explain_append_time(slow->typical_mean_ns, &line);
	text_append(&line, page->explain->why.gpu_count > 1 ? ", on average of GPUs:" : ":");
	for (size_t i = 0; i < count && i < SLOW_MOST; i++) {
		double ns = slow->parts[parts[i]].typical_ns;

		if (ns < TYPICAL_LEAST * (double)slow->typical_mean_ns)
			break;
		text_append(&line, i ? "; " : " ");
		explain_append_time(ns, &line);
		text_appendf(&line, " %s", explain_slow_title(parts[i]));
	}
	append_item(page, &line);
}

/* What is longer in the slow steps, as far as it is much of that. */
static void append_slow(const struct page *page)
{
	const struct explain_slow *slow = &page->explain->slow;
	_cleanup_text_ struct text line = {0};
	unsigned parts[EXPLAIN_SLOW_PARTS];
	size_t count = explain_slow_sort(slow, parts);
	double longer_ns = (double)slow->mean_ns - (double)slow->typical_mean_ns;

	if (!slow->count)
		return;
	explain_append_count(slow->count, &line);
	text_append(&line, slow->count == 1 ? " slow one (" : " slow ones (");
	text_append(&line, slow->are_spikes ? "twice the median and more) " : "from p95 on) ");
	text_append(&line, slow->count == 1 ? "takes " : "take ");
	explain_append_time(slow->mean_ns, &line);
	text_append(&line, ", ");
	explain_append_time(longer_ns, &line);
	text_append(&line, " more than around the median:");
	for (size_t i = 0; i < count && i < SLOW_MOST; i++) {
		const struct explain_slow_part *part = &slow->parts[parts[i]];

		if (part->slow_ns - part->typical_ns < SLOW_LEAST * longer_ns)
			break;
		text_append(&line, i ? "; " : " ");
		append_slow_part(page->explain, parts[i], !i, &line);
	}
	append_item(page, &line);
}

/* ---- findings ---- */

static void append_finding(const struct page *page, const struct explain_said *said, size_t number)
{
	_cleanup_text_ struct text heading = {0}, line = {0}, remedy = {0};
	const char *title = explain_finding_title(said->finding);
	char first[24];

	snprintf(first, sizeof(first), is_markdown(page) ? "%zu. " : "%zu  ", number);
	explain_size_append(page->explain, said, &heading);
	text_appendf(&heading, is_markdown(page) ? "**%s**" : "%s", title);
	append_wrapped(page, first, "   ", text_string(&heading));
	explain_finding_append(page->explain, said, &line);
	if (!said->is_state)
		text_appendf(&line, " [%s]", explain_finding_known_by(page->explain, said));
	append_wrapped(page, "   ", "   ", text_string(&line));
	text_appendf(&remedy, "%s: %s",
		     explain_finding_is_fault(said->finding)
			     ? "try"
			     : "no fault in itself; if it is too slow",
		     explain_finding_remedy(said->finding));
	append_wrapped(page, is_markdown(page) ? "\n   " : "   ", "        ", text_string(&remedy));
	page->text->failed |= heading.failed || line.failed || remedy.failed;
}

/* "then: input-bound (12.0 %), ..." */
static void append_others(const struct page *page, const struct explain_said *said, size_t count)
{
	_cleanup_text_ struct text line = {0};

	for (size_t i = 1; i < count && i < FINDINGS_MOST; i++) {
		text_appendf(&line, "%s%s", i == 1 ? "then: " : "; ",
			     explain_finding_title(said[i].finding));
		if (!said[i].is_state)
			text_appendf(&line, " (%.1f %%)", said[i].share);
	}
	append_wrapped(page, "   ", "   ", text_string(&line));
	page->text->failed |= line.failed;
}

static void append_nothing(const struct page *page)
{
	const struct explain *explain = page->explain;
	bool busy = explain->has_gpu && explain->recorded_ns &&
		    explain->busy_ns >= explain->recorded_ns * 0.9;

	if (busy)
		append_wrapped(page, "", "",
			       "Nothing else costs much: GPUs are busy, what is to gain is in "
			       "their kernels.");
	else if (!explain->recorded_ns)
		append_wrapped(page, "", "",
			       explain->survey->cut ? "Nothing can be told of what is left."
						    : "Nothing was recorded.");
	else
		append_wrapped(page, "", "",
			       "Of what is known nothing costs more than a few percent of the "
			       "time.");
}

static void append_findings(const struct page *page)
{
	struct explain_said said[EXPLAIN_FINDINGS];
	size_t count = explain_findings_choose(page->explain, said);

	if (!page->style->brief)
		append_heading(page, page->explain->has_gpu
					     ? "what cost most, of the time of GPUs"
					     : "what cost most, of the time recorded");
	if (!count)
		append_nothing(page);
	for (size_t i = 0; i < count && i < (page->style->brief ? 1 : FINDINGS_MOST); i++)
		append_finding(page, &said[i], i + 1);
	if (page->style->brief && count > 1)
		append_others(page, said, count);
}

/* ---- kernels, code, memory ---- */

#define FIGURES_COLUMNS	   31 /* "100.0 %   1.23 ms      1234 x  " */
#define SHARE_COLUMNS	   19 /* "100.0 %   1.23 ms  ", where there is no room for more */
#define NAME_COLUMNS_LEAST 20

/* What is left for it. */
static size_t name_columns_behind(const struct page *page, size_t used)
{
	size_t columns = columns_of(page);

	if (is_markdown(page) || columns >= used + NAME_COLUMNS)
		return NAME_COLUMNS;
	return columns < used + NAME_COLUMNS_LEAST ? NAME_COLUMNS_LEAST : columns - used;
}

static void append_places(const struct page *page, const char *title,
			  const struct explain_places *places, u64 all_ns)
{
	struct explain_place top[TOP_MOST];
	size_t count = explain_places_top(places, top, TOP_MOST);
	bool is_narrow = columns_of(page) < FIGURES_COLUMNS + NAME_COLUMNS_LEAST;
	size_t name_columns =
		name_columns_behind(page, is_narrow ? SHARE_COLUMNS : FIGURES_COLUMNS);

	if (!count || !all_ns)
		return;
	append_heading(page, title);
	for (size_t i = 0; i < count; i++) {
		_cleanup_text_ struct text time = {0};

		explain_append_time(top[i].ns, &time);
		text_appendf(page->text, "%s%5.1f %%  %8s  ", is_markdown(page) ? "- " : "",
			     100.0 * top[i].ns / all_ns, text_string(&time));
		if (!is_narrow)
			text_appendf(page->text, "%8llu x  ", (unsigned long long)top[i].count);
		explain_append_name(top[i].name, name_columns, page->text);
		text_append_char(page->text, '\n');
		page->text->failed |= time.failed;
	}
}

/* Of less of the kernels' time it is told why there is so little of the code that launched it. */
#define STACKED_LEAST_PERCENT 80

static void append_launches(const struct page *page)
{
	double percent = explain_launches_percent(page->explain);
	_cleanup_text_ struct text line = {0};

	if (!explain_launches_wanted(page->explain) || percent >= STACKED_LEAST_PERCENT)
		return;
	if (!page->explain->code.items)
		append_heading(page, "code that launched them");
	explain_launches_append_share(page->explain, &line);
	explain_launches_append_why(page->explain, &line);
	append_wrapped(page, is_markdown(page) ? "\n" : "", "   ", text_string(&line));
	page->text->failed |= line.failed;
}

static void append_memory(const struct page *page)
{
	const struct explain *explain = page->explain;

	if (!explain->memory_bytes && !explain->resident_bytes)
		return;
	append_heading(page, "memory");
	if (explain->memory_bytes) {
		text_append(page->text, "GPU: ");
		explain_append_bytes(explain->memory_used_bytes, page->text);
		text_append(page->text, " of ");
		explain_append_bytes(explain->memory_bytes, page->text);
		text_append(page->text, " in use at most\n");
	}
	if (explain->resident_bytes) {
		text_append(page->text, "process: ");
		explain_append_bytes(explain->resident_bytes, page->text);
		text_append(page->text, " resident at most\n");
	}
}

/* Idle time that nobody can tell the cause of, by what is missing. */
static void append_unknown(const struct page *page)
{
	const struct why *why = &page->explain->why;
	u64 ns[WHY_SORTS] = {0};

	for (size_t i = 0; i < why->count; i++)
		ns[why->causes[i].sort] += why->causes[i].ns;
	for (enum why_sort sort = WHY_FIRST; sort < WHY_SORTS; sort++) {
		_cleanup_text_ struct text line = {0};

		if (!ns[sort])
			continue;
		text_appendf(&line, "%s for %.1f %% of the time, ",
			     why_is_idle(sort) ? "why GPUs were idle" : "whether GPUs were idle",
			     100.0 * ns[sort] / page->explain->recorded_ns);
		explain_append_time(ns[sort], &line);
		text_append(&line, strchr(why_words(sort), ':') ?: "");
		append_item(page, &line);
	}
}

static void append_untold(const struct page *page, u64 ns)
{
	bool waits = view_kind_count(page->explain->view, KIND_off_cpu);
	_cleanup_text_ struct text line = {0};

	if (!ns)
		return;
	text_appendf(&line, "which code ran%s while GPUs were idle for %.1f %% of the time, ",
		     waits ? "" : ", or what threads waited for,",
		     100.0 * ns / page->explain->recorded_ns);
	explain_append_time(ns, &line);
	text_appendf(&line, ": there are no samples%s", waits ? "" : " and no waits");
	append_item(page, &line);
}

/* What ran is known, and not who wanted it. */
static bool is_codeless(const struct explain *explain)
{
	return explain->kernel_ns && !explain_launches_wanted(explain);
}

#define SWITCHED_OFF_SHOWN 3

/* "waits, from 0.502 s on" */
static void append_switched_off(const struct page *page)
{
	const struct view_survey *survey = page->explain->survey;
	size_t count = 0;

	for (size_t i = 0; i < survey->loss_count; i++) {
		_cleanup_text_ struct text line = {0};

		if (survey->losses[i].reason != VALUE_loss_reason_switched_off ||
		    count++ >= SWITCHED_OFF_SHOWN)
			continue;
		explain_append_name(survey->losses[i].place, 60, &line);
		text_append(&line, ": no longer recorded, since it took too much of the targets' "
				   "time (-r overhead)");
		append_item(page, &line);
	}
	if (count > SWITCHED_OFF_SHOWN)
		text_appendf(page->text, "%s%zu more that were switched off\n",
			     is_markdown(page) ? "- " : "", count - SWITCHED_OFF_SHOWN);
}

static void append_missing(const struct page *page)
{
	const struct explain *explain = page->explain;
	bool incomplete = !view_is_complete(explain->survey);
	u64 ns = explain_untold_ns(explain);

	if (!explain->unknown_ns && !explain->unseen_ns && !ns && !incomplete &&
	    !is_codeless(explain))
		return;
	append_heading(page, "not known");
	append_unknown(page);
	append_untold(page, ns);
	append_switched_off(page);
	if (is_codeless(explain))
		append_wrapped(page, "", "   ",
			       "which code launched the kernels: there are no stacks of launches "
			       "(--launch-stacks auto takes them)");
	if (incomplete)
		append_wrapped(
			page, "", "   ",
			"something is missing, or not as it seems: gpuprobe stats -r ledger");
}

int explain_append_text(const struct explain *explain, const struct explain_style *style,
			struct text *text)
{
	const struct page page = {.explain = explain, .style = style, .text = text};

	append_about(&page);
	append_without_gpu(&page);
	append_cost(&page);
	append_gpus(&page);
	append_steps(&page);
	append_typical(&page);
	append_slow(&page);
	append_findings(&page);
	if (!style->brief) {
		append_places(&page, "kernels, by their share of GPU time", &explain->kernels,
			      explain->kernel_ns);
		append_places(&page, "code that launched them", &explain->code,
			      explain_launches_code_ns(explain));
		append_launches(&page);
		append_places(&page, "ranges around launches without a stack", &explain->ranges,
			      explain->kernel_ns - explain->stacked_ns);
		append_memory(&page);
		append_missing(&page);
	}
	return text->failed ? -ENOMEM : 0;
}
