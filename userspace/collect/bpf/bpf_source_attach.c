/* Which BPF program goes where: the links of a plan, made and, one function at a time, taken off again. */
#include "collect/bpf/bpf_source_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "collect/bpf/cookie.h"
#include "collect/bpf/entry_sites.h"

/* Links that can go alone: each takes about 50 ms to take off when this process is killed, one after the other. */
#define SPLIT_MAX 64

/* Exits come before entries: a call that is seen to begin must be seen to end. */
static const struct probe_use probe_uses[] = {
#define PROGRAM(name) offsetof(struct gpuprobe_bpf, progs.name)
	/* A session turns strangers away itself: a filter by pid would leave forked children with
	 * hijacked returns and without our rules (DESIGN section 4). */
	{VALUE_returns_session, false, UPROBE_SESSION, true, PROGRAM(function_session),
	 PROGRAM(function_session_emulated)},
	{VALUE_returns_none, false, UPROBE_MULTI, false, PROGRAM(function_entry),
	 PROGRAM(function_entry_emulated)},
	{VALUE_returns_none, false, UPROBE_SINGLE, false, PROGRAM(function_entry_single), 0},
	{VALUE_returns_stepped, true, UPROBE_MULTI, false, PROGRAM(sites_return), 0},
	{VALUE_returns_stepped, true, UPROBE_SINGLE, false, PROGRAM(sites_return_single), 0},
	{VALUE_returns_emulated, true, UPROBE_MULTI, false, PROGRAM(sites_return_emulated), 0},
	{VALUE_returns_stepped, false, UPROBE_MULTI, false, PROGRAM(sites_entry),
	 PROGRAM(sites_entry_emulated)},
	{VALUE_returns_emulated, false, UPROBE_MULTI, false, PROGRAM(sites_entry),
	 PROGRAM(sites_entry_emulated)},
	{VALUE_returns_stepped, false, UPROBE_SINGLE, false, PROGRAM(sites_entry_single), 0},
#undef PROGRAM
};

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
			    size_t count, u32 returns, bool single)
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
		    returns >> uses[i].returns & 1)
			bpf_program__set_autoload(program_of(source, &uses[i]), true);
}

void bpf_source_choose_functions(const struct bpf_source *source,
				 const struct bpf_source_settings *settings)
{
	bpf_source_choose_uses(source, probe_uses, ARRAY_SIZE(probe_uses), settings->returns,
			       settings->single);
}

/* ---- links that can go alone -------------------------------------------------------------------------- */

/* 0: in a link with all those that stay. */
static u32 tag_of(const struct probe_split *split, const struct plan *plan, size_t function)
{
	return split->plan == plan ? split->tags[function] : 0;
}

static bool is_off(const struct probe_split *split, const struct plan *plan, size_t function)
{
	return split->plan == plan && split->off[function];
}

int bpf_source_split(struct bpf_source *source, const struct plan *plan,
		     bool (*may_go)(const struct plan_function *function))
{
	struct probe_split *split = &source->split;
	size_t count = 0, place = 0;

	split->tags = calloc(plan->function_count + 1, sizeof(*split->tags));
	split->off = calloc(plan->function_count + 1, sizeof(*split->off));
	if (!split->tags || !split->off)
		return -ENOMEM;
	split->plan = plan;
	for (size_t i = 0; i < plan->function_count; i++)
		count += may_go(&plan->functions[i]);
	split->tag_count = count < SPLIT_MAX ? count : SPLIT_MAX;
	for (size_t i = 0; i < plan->function_count; i++)
		if (may_go(&plan->functions[i]))
			split->tags[i] = 1 + (u32)(place++ * split->tag_count / count);
	return 0;
}

/* ---- groups ------------------------------------------------------------------------------------------- */

/* Which functions go into a link. */
struct group_choice {
	const struct plan *plan;
	const struct probe_split *split;
	const struct probe_use *use;
	size_t module;
	u32 tag;
};

static bool is_chosen(const struct group_choice *choice, size_t function)
{
	const struct plan_function *row = &choice->plan->functions[function];

	return row->module == choice->module && row->returns == choice->use->returns &&
	       tag_of(choice->split, choice->plan, function) == choice->tag &&
	       !is_off(choice->split, choice->plan, function);
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

int bpf_source_attach_use(struct bpf_source *source, const struct probe_reach *reach, size_t module,
			  const struct probe_use *use, struct err *err)
{
	struct group_choice choice = {reach->plan, &source->split, use, module, 0};
	u32 last = source->split.plan == reach->plan ? source->split.tag_count : 0;
	int result = 0;

	for (choice.tag = 0; choice.tag <= last && !result; choice.tag++)
		if (!reach->tag || reach->tag == choice.tag)
			result = attach_tagged(source, reach, &choice, err);
	return result;
}

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
	}
	return result;
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

u32 bpf_source_switch_off(struct bpf_source *source, size_t function, u64 now_ns)
{
	u32 tag = source->split.tags[function];

	if (!tag)
		return 0;
	source->split.off[function] = true;
	silence(source, tag, now_ns);
	uprobe_detach_tagged(&source->uprobes, tag);
	return tag;
}

size_t bpf_source_switch_others_on(struct bpf_source *source, const struct source_targets *targets,
				   u32 tag, u64 since_ns, struct err *err)
{
	if (attach_targets(source, targets, tag, err))
		return 0;
	return speak_again(source, tag, since_ns);
}

u32 bpf_source_switch_sort_off(struct bpf_source *source, enum price_sort sort)
{
	source->sorts_off[sort] = true;
	if (sort == PRICE_USDT)
		bpf_source_unwatch_usdt(source);
	uprobe_detach_tagged(&source->uprobes, TAG_OF_SORT(sort));
	return TAG_OF_SORT(sort);
}

u64 bpf_source_program_missed(int program_fd)
{
	struct bpf_prog_info info = {0};
	u32 size = sizeof(info);

	return program_fd < 0 || bpf_obj_get_info_by_fd(program_fd, &info, &size)
		       ? 0
		       : info.recursion_misses;
}

u64 bpf_source_missed(const struct bpf_source *source)
{
	u64 missed = bpf_source_missed_usdt(source);

	for (size_t i = 0; i < ARRAY_SIZE(probe_uses); i++) {
		/* sites_entry serves two rows. */
		if (i && probe_uses[i].program == probe_uses[i - 1].program)
			continue;
		missed += bpf_source_program_missed(bpf_source_program_fd(source, &probe_uses[i]));
	}
	return missed + bpf_source_heap_missed(source);
}
