/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocations of host memory: bpf/heap.bpf.c. */
#include "collect/bpf/bpf_source_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "collect/bpf/bpf_elements.h"
#include "collect/bpf/entry_sites.h"

/* As probe_uses of bpf_source.c. Every link names its process, but in files that only targets map. */
static const struct probe_use heap_uses[] = {
#define PROGRAM(name) offsetof(struct gpuprobe_bpf, progs.name)
	{VALUE_returns_session, false, false, UPROBE_SESSION, false, PROGRAM(heap_session),
	 PROGRAM(heap_session_emulated)},
	{VALUE_returns_stepped, true, false, UPROBE_MULTI, false, PROGRAM(heap_exit), 0},
	{VALUE_returns_emulated, true, false, UPROBE_MULTI, false, PROGRAM(heap_exit_emulated), 0},
	{VALUE_returns_stepped, false, false, UPROBE_MULTI, false, PROGRAM(heap_entry),
	 PROGRAM(heap_entry_emulated)},
	{VALUE_returns_emulated, false, false, UPROBE_MULTI, false, PROGRAM(heap_entry),
	 PROGRAM(heap_entry_emulated)},
	{VALUE_returns_none, false, false, UPROBE_MULTI, false, PROGRAM(heap_entry),
	 PROGRAM(heap_entry_emulated)},
#undef PROGRAM
};

void bpf_source_configure_heap(struct bpf_source *source,
			       const struct bpf_source_settings *settings)
{
	struct gpuprobe_bpf *skeleton = source->skeleton;
	bool wanted = settings->heap_plan;

	bpf_source_choose_uses(source, heap_uses, ARRAY_SIZE(heap_uses),
			       wanted ? plan_returns(settings->heap_plan) : 0, false, false);
	bpf_program__set_autoload(skeleton->progs.heap_exec, wanted);
	bpf_program__set_expected_attach_type(skeleton->progs.heap_session,
					      uprobe_attach_type(UPROBE_SESSION));
	bpf_program__set_expected_attach_type(skeleton->progs.heap_session_emulated,
					      uprobe_attach_type(UPROBE_SESSION));
	source->heap_plan = settings->heap_plan;
	source->heap_first = settings->function_count;
	if (!wanted)
		return;
	bpf_map__set_max_entries(
		skeleton->maps.heap_functions,
		(u32)(settings->function_count + settings->heap_plan->function_count) + 1);
	bpf_map__set_max_entries(skeleton->maps.heap_blocks, HEAP_BLOCKS_MAX);
	bpf_map__set_max_entries(skeleton->maps.heap_sites, HEAP_SITES_MAX);
	bpf_map__set_max_entries(skeleton->maps.heap_processes, HEAP_PROCESSES_MAX);
	skeleton->rodata->heap_events = settings->heap_events;
}

static int put_functions(struct bpf_source *source, struct err *err)
{
	const struct plan *plan = source->heap_plan;
	int map_fd = bpf_map__fd(source->skeleton->maps.heap_functions);

	for (size_t i = 0; i < plan->function_count; i++) {
		const struct plan_function *function = &plan->functions[i];
		struct heap_function described = {
			.row = *function->allocator,
			.result_seen = function->returns != VALUE_returns_none,
			.by_address = function->returns == VALUE_returns_session,
		};
		u32 probe = (u32)(source->heap_first + i) + 1;

		if (bpf_map_update_elem(map_fd, &probe, &described, BPF_ANY))
			return err_errno(err, -errno, "can't describe the arguments of %s",
					 function->name);
	}
	return entry_sites_put(bpf_map__fd(source->skeleton->maps.entry_sites), plan,
			       source->heap_first, err);
}

static int attach_modules(struct bpf_source *source, const struct probe_reach *reach, size_t target,
			  bool all, struct err *err)
{
	const struct plan *plan = source->heap_plan;
	int result = 0;

	for (size_t m = 0; m < plan->module_count; m++) {
		const struct code_module *module = &plan->modules[m];

		if (module->reaches_all != all ||
		    (target != SIZE_MAX && !module_is_mapped_by(module, target)))
			continue;
		for (size_t u = 0; u < ARRAY_SIZE(heap_uses) && !result; u++)
			result = bpf_source_attach_use(source, reach, m, &heap_uses[u], err);
	}
	return result;
}

int bpf_source_attach_heap(struct bpf_source *source, struct err *err)
{
	struct probe_reach everyone = {source->heap_plan, source->heap_first, 0, &source->uprobes,
				       0};
	int result;

	if (!source->heap_plan)
		return 0;
	result = put_functions(source, err);
	if (!result)
		result = attach_modules(source, &everyone, SIZE_MAX, true, err);
	if (result || source->heap_link)
		return result;
	source->heap_link = bpf_program__attach(source->skeleton->progs.heap_exec);
	return source->heap_link ? 0 : err_errno(err, -errno, "can't watch for execve");
}

int bpf_source_attach_heap_process(struct bpf_source *source, const struct process_links *links,
				   struct uprobe_set *set, struct err *err)
{
	struct probe_reach reach = {source->heap_plan, source->heap_first, links->thread, set, 0};

	if (!source->heap_plan || source->sorts_off[PRICE_HEAP] || links->single)
		return 0;
	return attach_modules(source, &reach, links->target, false, err);
}

u64 bpf_source_heap_missed(const struct bpf_source *source)
{
	u64 missed = 0;

	for (size_t i = 0; i < ARRAY_SIZE(heap_uses) && source->heap_plan; i++) {
		/* heap_entry serves three rows. */
		if (i && heap_uses[i].program == heap_uses[i - 1].program)
			continue;
		missed += bpf_program_missed(bpf_source_program_fd(source, &heap_uses[i]));
	}
	return missed;
}

/* ---- what they have summed ---- */

struct process_taker {
	bpf_source_heap_process_callback callback;
	void *data;
};

static int take_process(void *data, const void *key, const void *value)
{
	const struct process_taker *taker = data;

	return taker->callback(taker->data, *(const u32 *)key, value);
}

int bpf_source_heap_processes(const struct bpf_source *source,
			      bpf_source_heap_process_callback callback, void *data)
{
	struct process_taker taker = {callback, data};

	if (!source->heap_plan)
		return 0;
	return bpf_elements_read(source->skeleton->maps.heap_processes, take_process, &taker);
}

/* What a site has that is not freed. */
struct live {
	u64 calls, bytes, oldest_ns;
};

struct lives {
	struct map generations; /* pid -> that of struct heap_process */
	struct map places;	/* site -> index */
	struct live *items;
	size_t count, capacity;
	bpf_source_heap_site_callback callback;
	void *data;
};

static int note_generation(void *data, u32 pid, const struct heap_process *process)
{
	struct lives *lives = data;

	return map_set(&lives->generations, pid, 0, process->generation);
}

static struct live *live_of(struct lives *lives, u64 site)
{
	const u64 *place = map_find(&lives->places, site, 0);

	if (place)
		return &lives->items[*place];
	if (array_reserve(&lives->items, &lives->capacity, lives->count + 1) < 0 ||
	    map_set(&lives->places, site, 0, lives->count))
		return NULL;
	lives->items[lives->count] = (struct live){.oldest_ns = ~0ULL};
	return &lives->items[lives->count++];
}

/* What a process had before it executed another program went with that. */
static int take_block(void *data, const void *key, const void *value)
{
	struct lives *lives = data;
	const struct heap_key *where = key;
	const struct heap_block *block = value;
	const u64 *generation = map_find(&lives->generations, where->pid, 0);
	struct live *live;

	if (!generation || *generation != where->generation)
		return 0;
	live = live_of(lives, block->site);
	if (!live)
		return -ENOMEM;
	live->calls++;
	live->bytes += block->bytes;
	if (block->ts < live->oldest_ns)
		live->oldest_ns = block->ts;
	return 0;
}

static int take_site(void *data, const void *key, const void *value)
{
	struct lives *lives = data;
	struct heap_site site = *(const struct heap_site *)value;
	const u64 *place = map_find(&lives->places, *(const u64 *)key, 0);
	const struct live none = {0}, *live = place ? &lives->items[*place] : &none;

	site.live_calls = live->calls;
	site.live_bytes = live->bytes;
	return lives->callback(lives->data, &site, live->oldest_ns);
}

int bpf_source_heap_sites(const struct bpf_source *source, bpf_source_heap_site_callback callback,
			  void *data)
{
	struct lives lives = {.callback = callback, .data = data};
	int result;

	if (!source->heap_plan)
		return 0;
	result = bpf_source_heap_processes(source, note_generation, &lives);
	if (!result)
		result = bpf_elements_read(source->skeleton->maps.heap_blocks, take_block, &lives);
	if (!result)
		result = bpf_elements_read(source->skeleton->maps.heap_sites, take_site, &lives);
	map_free(&lives.generations);
	map_free(&lives.places);
	free(lives.items);
	return result;
}
