/* SPDX-License-Identifier: GPL-2.0-or-later */
/* USDT probes: bpf/usdt.bpf.c. */
#include "collect/bpf/bpf_source_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "../bpf/usdt.h"
#include "plan/plan_usdt.h"
#include "base/cleanup.h"

#define OPEN_RECORD_BYTES (sizeof(struct record_usdt_span) + USDT_ARGS_BYTES)

void bpf_source_configure_usdt(struct bpf_source *source,
			       const struct bpf_source_settings *settings)
{
	struct gpuprobe_bpf *skeleton = source->skeleton;
	const struct {
		struct bpf_program *program;
		bool load;
	} choices[] = {
		{skeleton->progs.usdt_hit, source->abilities.uprobe_multi},
		{skeleton->progs.usdt_hit_single,
		 settings->single || !source->abilities.uprobe_multi},
		{skeleton->progs.usdt_thread_exit, true},
		{skeleton->progs.usdt_exec, true},
		{skeleton->progs.open_usdt_spans, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(choices); i++)
		bpf_program__set_autoload(choices[i].program,
					  settings->usdt_sites && choices[i].load);
	bpf_map__set_max_entries(skeleton->maps.usdt_sites, (u32)settings->usdt_sites + 1);
	if (settings->usdt_sites)
		bpf_map__set_max_entries(skeleton->maps.usdt_begun, USDT_OPEN_SPANS_MAX);
}

/* Facts are numbered from 1 on, and so are places, in the order of the plan. */
static struct usdt_site site_of(const struct plan *plan, size_t index,
				const struct plan_usdt_site *place)
{
	const struct plan_usdt *usdt = &plan->usdt[index];
	size_t begin = usdt->role == VALUE_usdt_role_end ? usdt->partner : index;
	u32 texts = (u32)plan->function_count + 1;
	struct usdt_site site = {
		.usdt = (u32)index + 1,
		.name = texts + USDT_TEXTS_PER_PROBE * (u32)index,
		.role = usdt->role,
		.repeats = usdt->annotation != 0,
		.begin = (u32)begin + 1,
		.span_name = texts + USDT_TEXTS_PER_PROBE * (u32)begin + 1,
		.argument_count = (u32)place->argument_count,
	};

	for (size_t i = 0; i < place->argument_count && i < USDT_ARGUMENTS_MAX; i++)
		site.arguments[i] = place->arguments[i];
	return site;
}

int bpf_source_put_usdt(struct bpf_source *source, const struct plan *plan, struct err *err)
{
	u32 number = 0;

	for (size_t i = 0; i < plan->usdt_count; i++)
		for (size_t s = 0; s < plan->usdt[i].site_count; s++) {
			struct usdt_site site = site_of(plan, i, &plan->usdt[i].sites[s]);

			number++;
			if (bpf_map__update_elem(source->skeleton->maps.usdt_sites, &number,
						 sizeof(number), &site, sizeof(site), BPF_ANY))
				return err_errno(err, -errno, "can't describe the USDT probe %s:%s",
						 plan->usdt[i].provider, plan->usdt[i].name);
		}
	return 0;
}

int bpf_source_watch_usdt(struct bpf_source *source, struct err *err)
{
	struct bpf_program *programs[] = {source->skeleton->progs.usdt_thread_exit,
					  source->skeleton->progs.usdt_exec};

	_Static_assert(ARRAY_SIZE(programs) == USDT_PROGRAMS, "a link for each");
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		source->usdt_links[i] = bpf_program__attach(programs[i]);
		if (!source->usdt_links[i])
			return err_errno(err, -errno, "can't attach to the tracepoint of %s",
					 bpf_program__name(programs[i]));
	}
	return 0;
}

void bpf_source_unwatch_usdt(struct bpf_source *source)
{
	for (size_t i = 0; i < USDT_PROGRAMS; i++) {
		bpf_link__destroy(source->usdt_links[i]);
		source->usdt_links[i] = NULL;
	}
}

static void group_fill(struct uprobe_group *group, const struct plan *plan, size_t module)
{
	u64 number = 0;

	for (size_t i = 0; i < plan->usdt_count; i++)
		for (size_t s = 0; s < plan->usdt[i].site_count; s++) {
			const struct plan_usdt_site *site = &plan->usdt[i].sites[s];

			number++;
			if (plan->usdt[i].module != module || site->changed)
				continue;
			group->offsets[group->count] = site->file_offset;
			group->cookies[group->count] = number;
			group->reference_counters[group->count++] = site->semaphore_file_offset;
		}
}

int bpf_source_attach_usdt(struct bpf_source *source, const struct plan *plan, size_t module,
			   const struct usdt_reach *reach, struct err *err)
{
	const struct code_module *file = &plan->modules[module];
	size_t capacity = plan_usdt_sites(plan);
	_cleanup_free_ u64 *places = calloc(3 * capacity + 1, sizeof(*places));
	struct gpuprobe_bpf *skeleton = source->skeleton;
	struct uprobe_group group = {
		.kind = reach->single ? UPROBE_SINGLE : UPROBE_MULTI,
		.program_fd = bpf_program__fd(reach->single ? skeleton->progs.usdt_hit_single
							    : skeleton->progs.usdt_hit),
		.file_fd = file->fd,
		.pid = reach->thread,
		.tag = TAG_OF_SORT(PRICE_USDT),
	};
	int result;

	if (!capacity || source->sorts_off[PRICE_USDT])
		return 0;
	if (!places)
		return err_errno(err, -ENOMEM, "can't list the USDT probes");
	group.offsets = places;
	group.cookies = places + capacity;
	group.reference_counters = places + 2 * capacity;
	group_fill(&group, plan, module);
	result = uprobe_attach(reach->set, &group, err);
	if (result)
		err_prefix(err, "%s", file->path);
	return result;
}

u64 bpf_source_missed_usdt(const struct bpf_source *source)
{
	return bpf_program_missed(bpf_program__fd(source->skeleton->progs.usdt_hit)) +
	       bpf_program_missed(bpf_program__fd(source->skeleton->progs.usdt_hit_single));
}

int bpf_source_open_usdt_spans(struct bpf_source *source, bpf_source_callback callback, void *data)
{
	return bpf_records_take(source->skeleton->progs.open_usdt_spans, OPEN_RECORD_BYTES,
				callback, data);
}
