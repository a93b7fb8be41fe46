/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the rows of a table of uses (struct probe_use) to programs that are loaded, and to links. */
#include "collect/bpf/bpf_source_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "collect/bpf/cookie.h"
#include "collect/bpf/entry_sites.h"

/* Links that can go alone, of what may cost too much, and of all others: each takes about 50 ms to take off when this process is
 * killed, one after the other. */
#define SPLIT_MAX 64
/* Of these, for functions that allocate or free: an account of memory has to see all of them, so none goes for another's sake. */
#define SPLIT_ALLOCATORS_MAX 8

static struct bpf_program *program_at(const struct bpf_source *source, size_t offset)
{
	return *(struct bpf_program **)((char *)source->skeleton + offset);
}

static struct bpf_program *program_of(const struct bpf_source *source, const struct probe_use *use)
{
	bool emulates = use->emulating && source->abilities.set_registers;

	return program_at(source, emulates ? use->emulating : use->program);
}

int bpf_source_program_fd(const struct bpf_source *source, const struct probe_use *use)
{
	return bpf_program__fd(program_of(source, use));
}

void bpf_source_choose_uses(const struct bpf_source *source, const struct probe_use *uses,
			    size_t count, u32 returns, bool launches, bool single)
{
	bool multi = source->abilities.uprobe_multi;

	/* Several rows have the same program. */
	for (size_t i = 0; i < count; i++) {
		bpf_program__set_autoload(program_at(source, uses[i].program), false);
		if (uses[i].emulating)
			bpf_program__set_autoload(program_at(source, uses[i].emulating), false);
	}
	for (size_t i = 0; i < count; i++)
		if ((uses[i].kind == UPROBE_SINGLE ? single || !multi : multi) &&
		    (uses[i].launches ? launches : returns >> uses[i].returns & 1))
			bpf_program__set_autoload(program_of(source, &uses[i]), true);
}

/* Functions share links only with those of their sort. */
enum split_sort {
	SPLIT_GOES,
	SPLIT_ALLOCATES, /* and goes */
	SPLIT_LAUNCHES,	 /* probed for its stack only: all go as one, with such probes on others */
	SPLIT_STAYS,	 /* but where its code is changed */
	SPLIT_SORTS
};

static enum split_sort sort_of(const struct plan_function *function,
			       bool (*may_go)(const struct plan_function *function))
{
	if (function->launch_only)
		return SPLIT_LAUNCHES;
	if (!may_go(function))
		return SPLIT_STAYS;
	return function->allocator ? SPLIT_ALLOCATES : SPLIT_GOES;
}

int bpf_source_split(struct bpf_source *source, const struct plan *plan,
		     bool (*may_go)(const struct plan_function *function))
{
	struct probe_split *split = &source->split;
	size_t count[SPLIT_SORTS] = {0}, place[SPLIT_SORTS] = {0}, tags[SPLIT_SORTS];
	size_t first[SPLIT_SORTS] = {1};
	bool takes_launches;

	split->tags = calloc(plan->function_count + 1, sizeof(*split->tags));
	split->off = calloc(plan->function_count + 1, sizeof(*split->off));
	if (!split->tags || !split->off)
		return -ENOMEM;
	split->plan = plan;
	for (size_t i = 0; i < plan->function_count; i++)
		count[sort_of(&plan->functions[i], may_go)]++;
	takes_launches = plan_takes_launch_stacks(plan);
	tags[SPLIT_ALLOCATES] = count[SPLIT_ALLOCATES] < SPLIT_ALLOCATORS_MAX
					? count[SPLIT_ALLOCATES]
					: SPLIT_ALLOCATORS_MAX;
	tags[SPLIT_GOES] = count[SPLIT_GOES] < SPLIT_MAX - tags[SPLIT_ALLOCATES]
				   ? count[SPLIT_GOES]
				   : SPLIT_MAX - tags[SPLIT_ALLOCATES];
	tags[SPLIT_LAUNCHES] = takes_launches;
	tags[SPLIT_STAYS] = count[SPLIT_STAYS] < SPLIT_MAX ? count[SPLIT_STAYS] : SPLIT_MAX;
	for (size_t sort = 1; sort < SPLIT_SORTS; sort++)
		first[sort] = first[sort - 1] + tags[sort - 1];
	split->tag_count = (u32)(first[SPLIT_STAYS] + tags[SPLIT_STAYS] - 1);
	split->launch_tag = takes_launches ? (u32)first[SPLIT_LAUNCHES] : 0;
	for (size_t i = 0; i < plan->function_count; i++) {
		enum split_sort sort = sort_of(&plan->functions[i], may_go);

		split->tags[i] = (u32)(first[sort] + place[sort]++ * tags[sort] / count[sort]);
	}
	return 0;
}

bool bpf_source_is_off(const struct bpf_source *source, size_t function)
{
	return source->split.off && source->split.off[function];
}

/* Which functions go into a link. */
struct group_choice {
	const struct plan *plan;
	const struct probe_split *split;
	const struct probe_use *use;
	size_t module;
	u32 tag;
};

/* 0: in a link with all those that stay. */
static u32 tag_of(const struct group_choice *choice, size_t function)
{
	if (choice->split->plan != choice->plan)
		return 0;
	return choice->use->launches ? choice->split->launch_tag : choice->split->tags[function];
}

static bool is_off(const struct group_choice *choice, size_t function)
{
	return choice->split->plan == choice->plan && choice->split->off[function];
}

static bool is_of_use(const struct plan_function *function, const struct probe_use *use)
{
	if (use->launches)
		return function->launch;
	return function->returns == use->returns && !function->launch_only;
}

static bool is_chosen(const struct group_choice *choice, size_t function)
{
	const struct plan_function *row = &choice->plan->functions[function];

	return row->module == choice->module && is_of_use(row, choice->use) &&
	       tag_of(choice, function) == choice->tag && !is_off(choice, function) &&
	       !row->changed;
}

/* Places and cookies. The group's arrays are the caller's to free. */
static int group_fill(struct uprobe_group *group, const struct group_choice *choice, size_t first)
{
	const struct probe_use *use = choice->use;
	const struct plan *plan = choice->plan;
	size_t capacity = 1;

	for (size_t i = 0; i < plan->function_count; i++)
		if (is_chosen(choice, i))
			capacity += use->exits ? plan->functions[i].site_count : 1;
	group->offsets = calloc(capacity, sizeof(*group->offsets));
	group->cookies = calloc(capacity, sizeof(*group->cookies));
	if (!group->offsets || !group->cookies)
		return -ENOMEM;
	for (size_t i = 0; i < plan->function_count; i++) {
		const struct plan_function *function = &plan->functions[i];

		if (!is_chosen(choice, i))
			continue;
		if (!use->exits) {
			group->offsets[group->count] = function->file_offset;
			group->cookies[group->count++] = cookie_of_entry(function, first + i);
		}
		for (size_t s = 0; use->exits && s < function->site_count; s++) {
			group->offsets[group->count] = function->sites[s].file_offset;
			group->cookies[group->count++] =
				cookie_of_exit(function, &function->sites[s], first + i,
					       use->returns == VALUE_returns_emulated);
		}
	}
	return 0;
}

static int attach_tagged(struct bpf_source *source, const struct probe_reach *reach,
			 const struct group_choice *choice, struct err *err)
{
	const struct code_module *file = &reach->plan->modules[choice->module];
	_cleanup_free_ u64 *offsets = NULL, *cookies = NULL;
	struct uprobe_group group = {
		.kind = choice->use->kind,
		.program_fd = bpf_source_program_fd(source, choice->use),
		.file_fd = file->fd,
		.pid = reach->thread,
		.tag = choice->plan == source->heap_plan ? TAG_OF_SORT(PRICE_HEAP) : choice->tag};
	int result = group_fill(&group, choice, reach->first);

	offsets = group.offsets;
	cookies = group.cookies;
	if (result)
		return err_errno(err, result, "can't list the probes");
	result = uprobe_attach(reach->set, &group, err);
	if (result)
		err_prefix(err, "%s", file->path);
	return result;
}

/* Most files have none: a process maps a hundred, and there are dozens of tags. */
static bool any_goes_by(const struct plan *plan, size_t module, const struct probe_use *use)
{
	for (size_t i = 0; i < plan->function_count; i++)
		if (plan->functions[i].module == module && is_of_use(&plan->functions[i], use))
			return true;
	return false;
}

int bpf_source_attach_use(struct bpf_source *source, const struct probe_reach *reach, size_t module,
			  const struct probe_use *use, struct err *err)
{
	struct group_choice choice = {reach->plan, &source->split, use, module, 0};
	u32 last = source->split.plan == reach->plan ? source->split.tag_count : 0;
	int result = 0;

	if (!any_goes_by(reach->plan, module, use) ||
	    (use->launches && source->sorts_off[PRICE_LAUNCH_STACKS]))
		return 0;
	for (choice.tag = 0; choice.tag <= last && !result; choice.tag++)
		if (!reach->tag || reach->tag == choice.tag)
			result = attach_tagged(source, reach, &choice, err);
	return result;
}
