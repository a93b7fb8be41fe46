/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which BPF program goes where: the links of a plan, made and, one function at a time, taken off again. */
#include "collect/bpf/bpf_source_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "collect/bpf/cookie.h"
#include "collect/bpf/entry_sites.h"

/* Exits come before entries: a call that is seen to begin must be seen to end. */
static const struct probe_use probe_uses[] = {
#define PROGRAM(name) offsetof(struct gpuprobe_bpf, progs.name)
	/* A session turns strangers away itself: a filter by pid would leave forked children with
	 * hijacked returns and without our rules (docs/uprobes.md). */
	{VALUE_returns_session, false, false, UPROBE_SESSION, true, PROGRAM(function_session),
	 PROGRAM(function_session_emulated)},
	{VALUE_returns_none, false, false, UPROBE_MULTI, false, PROGRAM(function_entry),
	 PROGRAM(function_entry_emulated)},
	{VALUE_returns_none, false, false, UPROBE_SINGLE, false, PROGRAM(function_entry_single), 0},
	{VALUE_returns_stepped, true, false, UPROBE_MULTI, false, PROGRAM(sites_return), 0},
	{VALUE_returns_stepped, true, false, UPROBE_SINGLE, false, PROGRAM(sites_return_single), 0},
	{VALUE_returns_emulated, true, false, UPROBE_MULTI, false, PROGRAM(sites_return_emulated),
	 0},
	{VALUE_returns_stepped, false, false, UPROBE_MULTI, false, PROGRAM(sites_entry),
	 PROGRAM(sites_entry_emulated)},
	{VALUE_returns_emulated, false, false, UPROBE_MULTI, false, PROGRAM(sites_entry),
	 PROGRAM(sites_entry_emulated)},
	{VALUE_returns_stepped, false, false, UPROBE_SINGLE, false, PROGRAM(sites_entry_single), 0},
	{VALUE_returns_none, false, true, UPROBE_MULTI, false, PROGRAM(launch_entry),
	 PROGRAM(launch_entry_emulated)},
	{VALUE_returns_none, false, true, UPROBE_SINGLE, false, PROGRAM(launch_entry_single), 0},
#undef PROGRAM
};

void bpf_source_choose_functions(const struct bpf_source *source,
				 const struct bpf_source_settings *settings)
{
	bpf_source_choose_uses(source, probe_uses, ARRAY_SIZE(probe_uses), settings->returns,
			       settings->launch_stacks, settings->single);
}

/* ---- groups ------------------------------------------------------------------------------------------- */

static bool names_no_process(const struct code_module *module, const struct probe_use *use)
{
	return use->kind != UPROBE_SINGLE && (use->all_processes || module->reaches_all);
}

int bpf_source_attach_process(struct bpf_source *source, const struct plan *plan,
			      const struct process_links *links, struct uprobe_set *set,
			      struct err *err)
{
	struct probe_reach reach = {plan, 0, links->thread, set, links->tag};
	const struct usdt_reach usdt = {links->thread, links->single, set};
	int result = 0;

	for (size_t m = 0; m < plan->module_count; m++) {
		const struct code_module *module = &plan->modules[m];

		if (module->reaches_all ||
		    (links->target != SIZE_MAX && !module_is_mapped_by(module, links->target)))
			continue;
		for (size_t u = 0; u < ARRAY_SIZE(probe_uses) && !result; u++)
			if ((probe_uses[u].kind == UPROBE_SINGLE) == links->single &&
			    !names_no_process(module, &probe_uses[u]))
				result = bpf_source_attach_use(source, &reach, m, &probe_uses[u],
							       err);
		if (!result && !links->tag)
			result = bpf_source_attach_usdt(source, plan, m, &usdt, err);
	}
	if (!result && !links->tag)
		result = bpf_source_attach_heap_process(source, links, set, err);
	return result;
}

static int attach_unnamed(struct bpf_source *source, const struct probe_reach *everyone,
			  struct err *err)
{
	const struct plan *plan = everyone->plan;
	int result = 0;

	for (size_t m = 0; m < plan->module_count; m++)
		for (size_t u = 0; u < ARRAY_SIZE(probe_uses) && !result; u++)
			if (names_no_process(&plan->modules[m], &probe_uses[u]))
				result = bpf_source_attach_use(source, everyone, m, &probe_uses[u],
							       err);
	return result;
}

static int attach_unnamed_usdt(struct bpf_source *source, const struct plan *plan, struct err *err)
{
	const struct usdt_reach usdt = {0, false, &source->uprobes};
	int result = 0;

	for (size_t m = 0; m < plan->module_count && !result; m++)
		if (plan->modules[m].reaches_all)
			result = bpf_source_attach_usdt(source, plan, m, &usdt, err);
	return result;
}

static int attach_targets(struct bpf_source *source, const struct source_targets *targets, u32 tag,
			  struct err *err)
{
	const struct plan *plan = targets->plan;
	struct probe_reach everyone = {plan, 0, 0, &source->uprobes, tag};
	size_t ended_count = 0;
	int result = targets->single ? 0 : attach_unnamed(source, &everyone, err);

	if (!result && !targets->single && !tag)
		result = attach_unnamed_usdt(source, plan, err);
	if (!result && !targets->single && !tag)
		result = bpf_source_attach_heap(source, err);
	for (size_t t = 0; t < targets->target_count && !result; t++) {
		struct process_links links = {
			targets->targets[t].thread, t,
			targets->single || targets->targets[t].first_thread_ended, tag};

		result = bpf_source_attach_process(source, plan, &links, &source->uprobes, err);
		/* See modules_load(). */
		if (result && target_is_gone(&targets->targets[t]) &&
		    ++ended_count < targets->target_count)
			result = 0;
	}
	return result;
}

/* Nothing comes between this and the links. */
static int check_sites(struct bpf_source *source, const struct source_targets *targets,
		       struct err *err)
{
	int result;

	log_phase("probes are prepared");
	result = site_check(targets->plan, targets->targets, targets->target_count,
			    &source->changes);
	if (!result && source->heap_plan)
		result = site_check(source->heap_plan, targets->targets, targets->target_count,
				    &source->changes);
	log_phase("code compared");
	return result ? err_errno(err, result, "can't compare the code that is to be probed") : 0;
}

const struct site_changes *bpf_source_changed_sites(const struct bpf_source *source)
{
	return &source->changes;
}

int bpf_source_attach(struct bpf_source *source, const struct source_targets *targets,
		      struct err *err)
{
	const struct plan *plan = targets->plan;
	const struct uprobe_set *set = &source->uprobes;
	int result = entry_sites_put(bpf_map__fd(source->skeleton->maps.entry_sites), plan, 0, err);

	if (!result)
		result = bpf_source_put_allocators(source, plan, err);
	if (!result)
		result = bpf_source_put_matmuls(source, plan, err);
	if (!result)
		result = bpf_source_put_usdt(source, plan, err);
	if (!result && plan->usdt_count)
		result = bpf_source_watch_usdt(source, err);
	if (!result && !targets->single && plan_hijacks_returns(plan))
		result = bpf_source_prepare_hijacking(source, plan, targets->targets, err);
	if (!result)
		result = check_sites(source, targets, err);
	if (!result)
		result = attach_targets(source, targets, 0, err);
	if (!result && !set->function_count && set->refused_count)
		result = err_errno(err, set->refused[0].error, "can't put %zu probes in",
				   set->refused_count);
	return result;
}

/* For calibration: functions of our own, in our own process. */
int bpf_source_attach_own(struct bpf_source *source, const struct plan *plan, struct err *err)
{
	struct probe_reach everyone = {plan, 0, 0, &source->uprobes, 0};
	struct process_links links = {.thread = (u32)getpid(),
				      .target = SIZE_MAX,
				      .single = !source->abilities.uprobe_multi};
	const struct plan *heap_plan = source->heap_plan;
	int result = links.single ? 0 : attach_unnamed(source, &everyone, err);

	/* Its functions are the targets'. */
	source->heap_plan = NULL;
	if (!result)
		result = bpf_source_attach_process(source, plan, &links, &source->uprobes, err);
	source->heap_plan = heap_plan;
	return result;
}

/* ---- switching off -------------------------------------------------------------------------------------- */

static int set_switched(struct bpf_source *source, size_t function, struct switched_probe value)
{
	u32 probe = (u32)function + 1;

	if (bpf_map__update_elem(source->skeleton->maps.switched_off, &probe, sizeof(probe), &value,
				 sizeof(value), 0))
		return -errno;
	__atomic_store_n(&source->skeleton->bss->any_switched_off, 1, __ATOMIC_SEQ_CST);
	return 0;
}

/* From here on the programs take no calls of functions with this tag any more. */
static void silence(struct bpf_source *source, u32 tag, u64 now_ns)
{
	const struct probe_split *split = &source->split;

	for (size_t i = 0; i < split->plan->function_count; i++)
		if (split->tags[i] == tag)
			(void)set_switched(source, i, (struct switched_probe){now_ns, 1});
}

/* Those that went with another one. How many. */
static size_t speak_again(struct bpf_source *source, u32 tag, u64 since_ns)
{
	const struct probe_split *split = &source->split;
	size_t count = 0;

	for (size_t i = 0; i < split->plan->function_count; i++) {
		if (split->tags[i] != tag || split->off[i])
			continue;
		(void)set_switched(source, i, (struct switched_probe){since_ns, 0});
		count++;
	}
	return count;
}

void bpf_source_silence(struct bpf_source *source, size_t function, u64 now_ns)
{
	if (source->split.tags[function])
		silence(source, source->split.tags[function], now_ns);
}

/*
 * From 6.13 on the kernel holds uprobes for the returns that it has taken, of all programs on the machine, and lets go of those
 * of a thread when 100 ms have passed since it took the last one (docs/uprobes.md). So as long as a thread goes on calling
 * probed functions inside of an open one, no link can be closed: seen, minutes. No return is taken until it is. Those that levels
 * probe are libraries' and short: there returns are taken on, which accounts of memory need.
 */
static bool may_be_held_up(const struct bpf_source *source)
{
	const struct plan *plan = source->split.plan;

	for (size_t i = 0; plan && i < plan->function_count; i++)
		if (plan->functions[i].returns == VALUE_returns_session &&
		    !plan->functions[i].by_level)
			return true;
	return source->heap_plan;
}

void bpf_source_detach_taken(struct bpf_source *source, struct uprobe_set *taken)
{
	unsigned int *letting_go = (unsigned int *)&source->skeleton->bss->letting_go;

	unsigned int one = may_be_held_up(source);

	/* Several threads may do so. */
	__atomic_add_fetch(letting_go, one, __ATOMIC_SEQ_CST);
	uprobe_detach(taken, NULL, NULL);
	__atomic_sub_fetch(letting_go, one, __ATOMIC_SEQ_CST);
}

void bpf_source_take_tagged(struct bpf_source *source, u32 tag, struct uprobe_set *to)
{
	uprobe_set_move_tagged(to, &source->uprobes, tag);
}

size_t bpf_source_switch_off(struct bpf_source *source, size_t function, u64 now_ns,
			     u32 ret_tags[static FUNCTION_TAGS_MAX])
{
	const struct probe_split *split = &source->split;
	const struct plan_function *row = &split->plan->functions[function];
	size_t count = 0;

	split->off[function] = true;
	ret_tags[count++] = split->tags[function];
	if (row->launch && !row->launch_only && !source->sorts_off[PRICE_LAUNCH_STACKS])
		ret_tags[count++] = split->launch_tag;
	for (size_t i = 0; i < count; i++)
		silence(source, ret_tags[i], now_ns);
	return count;
}

size_t bpf_source_switch_others_on(struct bpf_source *source, const struct source_targets *targets,
				   u32 tag, u64 since_ns, struct err *err)
{
	if (attach_targets(source, targets, tag, err))
		return 0;
	return speak_again(source, tag, since_ns);
}

bool bpf_source_sort_is_off(const struct bpf_source *source, enum price_sort sort)
{
	return source->sorts_off[sort];
}

/* Functions that are recorded too go on being so. */
static u32 switch_launches_off(struct bpf_source *source)
{
	const struct probe_split *split = &source->split;

	for (size_t i = 0; i < split->plan->function_count; i++)
		if (split->plan->functions[i].launch_only)
			split->off[i] = true;
	if (split->launch_tag)
		silence(source, split->launch_tag, clock_monotonic_ns());
	return split->launch_tag;
}

u32 bpf_source_switch_sort_off(struct bpf_source *source, enum price_sort sort)
{
	source->sorts_off[sort] = true;
	if (sort == PRICE_LAUNCH_STACKS) {
		__atomic_store_n(&source->skeleton->bss->launch_stacks_over, 1, __ATOMIC_SEQ_CST);
		return switch_launches_off(source);
	}
	if (sort == PRICE_USDT)
		bpf_source_unwatch_usdt(source);
	return TAG_OF_SORT(sort);
}

u64 bpf_source_missed(const struct bpf_source *source)
{
	u64 missed = bpf_source_missed_usdt(source);

	for (size_t i = 0; i < ARRAY_SIZE(probe_uses); i++) {
		/* sites_entry serves two rows. */
		if (i && probe_uses[i].program == probe_uses[i - 1].program)
			continue;
		missed += bpf_program_missed(bpf_source_program_fd(source, &probe_uses[i]));
	}
	return missed + bpf_source_heap_missed(source);
}
