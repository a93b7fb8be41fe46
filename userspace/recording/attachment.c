/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording/attachment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../bpf/record.h"
#include "code/code_cache.h"
#include "process/descendants.h"
#include "plan/plan_usdt.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "base/thread.h"
#include "options/levels.h"
#include "recording/heap.h"

#define ANNOTATIONS "gpuprobe:*" /* of gpuprobe.h, for -U */

static int targets_open(const struct options *options, u32 command_pid,
			struct attachment *attachment, struct err *err)
{
	size_t count = options->pids.count + (command_pid != 0);

	attachment->targets = calloc(count + 1, sizeof(*attachment->targets));
	if (!attachment->targets)
		return err_errno(err, -ENOMEM, "can't open the targets");
	for (size_t i = 0; i < count; i++) {
		bool is_command = i == options->pids.count;
		int result = target_open(is_command ? command_pid : options->pids.items[i],
					 is_command, &attachment->targets[i], err);

		if (result)
			return result;
		attachment->target_count++;
	}
	return 0;
}

/* One that can't be recorded is left out, and said; one that has ended in between is nothing. */
static int descendants_open(struct attachment *attachment, struct err *err)
{
	size_t given = attachment->target_count, count = 0;
	_cleanup_free_ u32 *given_pids = calloc(given + 1, sizeof(*given_pids)), *pids = NULL;
	struct target *targets;
	int result;

	if (!given_pids)
		return err_errno(err, -ENOMEM, "can't list the children");
	for (size_t i = 0; i < given; i++)
		given_pids[i] = attachment->targets[i].pid;
	result = descendants_list(given_pids, given, &pids, &count, err);
	if (result)
		return result;
	targets = reallocarray(attachment->targets, given + count + 1, sizeof(*targets));
	if (!targets)
		return err_errno(err, -ENOMEM, "can't open the children");
	attachment->targets = targets;
	for (size_t i = 0; i < count; i++) {
		struct err why = {0};

		result = target_open(pids[i], false, &targets[attachment->target_count], &why);
		if (!result) {
			attachment->target_count++;
			attachment->descendant_count++;
		} else if (result != -ESRCH && !attachment->refused_count++) {
			attachment->refused_err = why;
		}
	}
	return 0;
}

/* What the options ask of the kernel, and what to do where it can't. */
static int modes_check(const struct options *options, const struct kernel_abilities *can,
		       struct err *err)
{
	const struct {
		bool asked, there;
		const char *option, *missing;
	} needs[] = {
		{options->attach_mode == CHOICE_attach_mode_multi, can->uprobe_multi,
		 "--attach multi",
		 can->half_multi
			 ? "has a uprobe_multi that sees the first thread alone (mended in Linux "
			   "6.6.35, 6.9.5 and 6.10). Leave --attach out."
			 : "has no uprobe_multi (Linux 6.6 and later have). Leave --attach out."},
		{options->returns_mode == CHOICE_returns_mode_emulated, can->set_registers,
		 "--returns emulated",
		 "does not let a program set registers (Linux 6.19 and later do). Leave --returns "
		 "out, or use --returns stepped."},
		{options->returns_mode == CHOICE_returns_mode_trampoline, can->uprobe_session,
		 "--returns trampoline",
		 "has no uprobe sessions (Linux 6.13 and later have). Leave --returns out, or use "
		 "--returns stepped."},
		{options->alloc_mode > CHOICE_alloc_mode_off, can->growth, "--alloc",
		 "does not have the tracepoints (mmap_lock, page_fault, mm_page_alloc). Leave "
		 "--alloc out."},
	};

	for (size_t i = 0; i < ARRAY_SIZE(needs); i++)
		if (needs[i].asked && !needs[i].there)
			return err_set(err, -EOPNOTSUPP, "%s: this kernel (%s) %s", needs[i].option,
				       can->release, needs[i].missing);
	return 0;
}

bool attachment_wants_growth(const struct attachment *attachment, const struct options *options)
{
	return attachment->abilities.growth != KERNEL_GROWTH_NONE &&
	       levels_alloc_mode(options) >= CHOICE_alloc_mode_growth;
}

static int modes_choose(const struct options *options, struct attachment *attachment,
			struct err *err)
{
	const struct kernel_abilities *can = &attachment->abilities;

	attachment->single_probes =
		options->attach_mode == CHOICE_attach_mode_single || !can->uprobe_multi;
	return modes_check(options, can, err);
}

static enum plan_returns returns_wanted(const struct options *options)
{
	static const enum plan_returns wanted[] = {
		[CHOICE_returns_mode_auto] = PLAN_RETURNS_AUTO,
		[CHOICE_returns_mode_none] = PLAN_RETURNS_NONE,
		[CHOICE_returns_mode_trampoline] = PLAN_RETURNS_TRAMPOLINE,
		[CHOICE_returns_mode_stepped] = PLAN_RETURNS_STEPPED,
		[CHOICE_returns_mode_emulated] = PLAN_RETURNS_EMULATED,
		[CHOICE_returns_mode_cheap] = PLAN_RETURNS_CHEAP,
	};

	return wanted[options->returns_mode];
}

/* Probes for stacks of launches that nobody asked for are to cost nothing that is felt: one by one they take the kernel 0.1 s each to take off. */
static bool spares_launches(const struct options *options, const struct attachment *attachment)
{
	bool by_one = attachment->single_probes || !attachment->abilities.uprobe_multi;

	for (size_t i = 0; i < attachment->target_count; i++)
		by_one |= attachment->targets[i].first_thread_ended;
	return by_one && !options->given.launch_stacks;
}

/* Those of the catalogue, which may match nothing; then those of -F, so that these may exclude. */
int attachment_plan_anew(const struct options *options, struct attachment *attachment,
			 struct err *err)
{
	size_t launches = attachment->gpu.launch_pattern_count;
	size_t spared = spares_launches(options, attachment) ? launches : 0;
	size_t added = attachment->gpu.pattern_count - spared;
	size_t named = added + options->functions.count;
	struct plan_limits limits = {
		.max_functions = options->max_functions,
		.has_session = attachment->abilities.uprobe_session,
		.single_probes = attachment->single_probes,
		.can_emulate = attachment->abilities.set_registers,
		.children = options->children,
		.returns = returns_wanted(options),
		.code_cache = options->no_code_cache ? NULL : CODE_CACHE_FOLDER,
		.optional_patterns = added,
		.launch_patterns = launches - spared,
		.launch_quietly = !options->given.launch_stacks,
		.later_files = attachment->gpu.later,
		.later_file_count = attachment->gpu.later_count,
		.recorded_patterns = added + (options->count ? 0 : options->functions.count),
	};
	size_t count = named + options->count_functions.count;
	_cleanup_free_ char **patterns = calloc(count + 1, sizeof(*patterns));
	_cleanup_free_ char **probes = calloc(options->usdt.count + 2, sizeof(*probes));
	struct plan_usdt_request usdt = {probes, 0, 0};
	int result;

	if (!patterns || !probes)
		return err_errno(err, -ENOMEM, "can't plan the probes");
	if (levels_has(options, LEVEL_usdt))
		probes[usdt.optional_count++] = (char *)ANNOTATIONS;
	for (usdt.count = usdt.optional_count;
	     usdt.count < usdt.optional_count + options->usdt.count; usdt.count++)
		probes[usdt.count] = options->usdt.items[usdt.count - usdt.optional_count];
	for (size_t i = 0; i < count; i++)
		patterns[i] = i < added	  ? (char *)attachment->gpu.patterns[spared + i]
			      : i < named ? options->functions.items[i - added]
					  : options->count_functions.items[i - named];
	attachment->plan = plan_free(attachment->plan);
	result = plan_build(attachment->targets, attachment->target_count, patterns, count, &limits,
			    &attachment->plan, err);
	if (!result)
		result = plan_add_usdt(attachment->plan, attachment->targets,
				       attachment->target_count, &usdt, &limits, err);
	return result ? result : heap_plan_make(options, attachment, err);
}

/* It reads the types of the kernel, beside what is looked at in the targets. */
struct kernel_question {
	struct kernel_abilities *abilities;
	struct err err;
	int result;
};

static void *ask_kernel(void *data)
{
	struct kernel_question *question = data;

	question->result = kernel_abilities_probe(question->abilities, &question->err);
	return NULL;
}

/* An error of the kernel's comes first. */
static int look_around(const struct options *options, u32 command_pid,
		       struct attachment *attachment, struct err *err)
{
	struct kernel_question question = {.abilities = &attachment->abilities};
	pthread_t asker;
	bool asks = !thread_start(&asker, ask_kernel, &question);
	int result = gpu_fallback_find(options, attachment->targets, attachment->target_count,
				       command_pid, &attachment->gpu, err);

	log_phase("GPU side looked at");
	if (asks)
		pthread_join(asker, NULL);
	else
		ask_kernel(&question);
	log_phase("kernel asked");
	if (question.result) {
		*err = question.err;
		return question.result;
	}
	return result;
}

static int attachment_fill(const struct options *options, u32 command_pid,
			   struct attachment *attachment, struct err *err)
{
	int result = privileges_check(err);

	if (!result)
		result = targets_open(options, command_pid, attachment, err);
	if (!result && options->children)
		result = descendants_open(attachment, err);
	if (!result)
		result = look_around(options, command_pid, attachment, err);
	if (!result)
		result = modes_choose(options, attachment, err);
	return result ? result : attachment_plan_anew(options, attachment, err);
}

int attachment_plan(const struct options *options, u32 command_pid,
		    struct attachment *ret_attachment, struct err *err)
{
	struct attachment attachment = {0};
	int result = attachment_fill(options, command_pid, &attachment, err);

	if (result) {
		attachment_free(&attachment);
		return result;
	}
	*ret_attachment = attachment;
	return 0;
}

bool attachment_names_probes(const struct options *options)
{
	return options->functions.count || options->count_functions.count || options->usdt.count;
}

void attachment_free(struct attachment *attachment)
{
	plan_free(attachment->plan);
	plan_free(attachment->heap_plan);
	gpu_fallback_free(&attachment->gpu);
	for (size_t i = 0; i < attachment->target_count; i++)
		target_close(&attachment->targets[i]);
	free(attachment->targets);
	*attachment = (struct attachment){0};
}

void attachment_append_targets(const struct attachment *attachment, struct text *text)
{
	for (size_t i = 0; i < attachment->target_count - attachment->descendant_count; i++) {
		const struct target *target = &attachment->targets[i];

		text_append(text, i ? ", " : "");
		text_append_terminal(text, target->comm, strlen(target->comm));
		text_appendf(text, " (%u)", target->pid);
	}
}

static void append_usdt(const struct plan *plan, struct text *text)
{
	size_t spans = 0;

	if (!plan->usdt_count)
		return;
	for (size_t i = 0; i < plan->usdt_count; i++)
		spans += plan->usdt[i].role == VALUE_usdt_role_begin;
	text_appendf(text, "%zu USDT probe%s at %zu place%s", plan->usdt_count,
		     plan->usdt_count == 1 ? "" : "s", plan_usdt_sites(plan),
		     plan_usdt_sites(plan) == 1 ? "" : "s");
	if (spans)
		text_appendf(text, ", %zu pair%s of them span%s", spans, spans == 1 ? "" : "s",
			     spans == 1 ? "" : "s");
}

void attachment_summary(const struct attachment *attachment, struct text *text)
{
	const struct plan *plan = attachment->plan;
	size_t count = plan_told_count(plan), cheap = 0, entries = 0;

	for (size_t i = 0; i < plan->function_count; i++) {
		if (!plan_is_told(plan, &plan->functions[i]))
			continue;
		cheap += plan->functions[i].cost == COST_CHEAP;
		entries += plan->functions[i].returns == VALUE_returns_none;
	}
	attachment_append_targets(attachment, text);
	if (attachment->descendant_count)
		text_appendf(text, " and %zu descendant%s", attachment->descendant_count,
			     attachment->descendant_count == 1 ? "" : "s");
	text_append(text, ": ");
	append_usdt(plan, text);
	if (plan->usdt_count && !plan->matched_count)
		return;
	text_append(text, plan->usdt_count ? "; " : "");
	text_appendf(text, "%zu function%s match%s, %zu probed (%zu cheap, %zu stepped)",
		     plan->matched_count, plan->matched_count == 1 ? "" : "s",
		     plan->matched_count == 1 ? "es" : "", count, cheap, count - cheap);
	if (entries == count)
		text_append(text, ", entries only");
	else if (entries)
		text_appendf(text, ", %zu of them entries only", entries);
	if (plan->skipped_count)
		text_appendf(text, ", %zu skipped", plan->skipped_count);
}
