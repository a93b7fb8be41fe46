/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/memory_accounts.h"

#include "cuda/only_gpu.h"

static bool has_allocators(const struct plan *plan)
{
	for (size_t i = 0; i < plan->function_count; i++)
		if (plan->functions[i].allocator)
			return true;
	return false;
}

void memory_accounts_configure(const struct plan *plan, struct bpf_source_settings *settings)
{
	struct only_gpu gpu;

	only_gpu_read(ONLY_GPU_FOLDER, &gpu);
	settings->allocators = has_allocators(plan);
	settings->device_number = gpu.number;
}

int memory_accounts_leave_to_agents(struct bpf_source *source, const struct agents *agents,
				    struct err *err)
{
	size_t count = agents ? agents_count(agents) : 0;
	int result = 0;

	for (size_t i = 0; i < count && !result; i++) {
		const struct agent_report *report = agents_report(agents, i);

		if (report->outcome == AGENT_WORKS || report->outcome == AGENT_AWAITED)
			result = bpf_source_leave_memory_to_agent(source, report->target->pid, err);
	}
	return result;
}

int memory_accounts_put_facts(struct bpf_source *source, const struct plan *plan,
			      struct recording_facts *facts, struct batch *batch)
{
	struct only_gpu gpu;
	const char *name;
	u32 id = 0;
	int result;

	if (!has_allocators(plan))
		return 0;
	only_gpu_read(ONLY_GPU_FOLDER, &gpu);
	name = gpu.number == ~0U ? "(which one is not known)" : gpu.name;
	result = *name ? text_ids_get(&facts->probes, batch, name, &id) : 0;
	bpf_source_set_device_name(source, id);
	return result;
}
