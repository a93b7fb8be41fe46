/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind tables for the agents, which walk stacks of their own (gpu/tables.h). */
#include "base/cleanup.h"
#include "session/unwinding_parts.h"
#include "unwind/unwind_space.h"

static const struct code_process *process_find(const struct code_map *map, u32 pid)
{
	for (size_t i = 0; i < map->process_count; i++)
		if (map->processes[i].pid == pid)
			return &map->processes[i];
	return NULL;
}

void unwinding_share(struct unwinding *unwinding, const struct code_map *map, u32 pid,
		     struct agent_stacks *stacks, u64 timeout_ns)
{
	const struct code_process *process = process_find(map, pid);
	_cleanup_free_ struct unwind_mapping *mappings = NULL;
	size_t count = 0, left_out = 0;

	if (!process || unwinding_mappings(unwinding, map, process, &mappings, &count) ||
	    unwind_space_fit(mappings, &count, UNWIND_PROCESS_MAX, &left_out) ||
	    !unwind_tables_share(&unwinding->tables, mappings, count, stacks, timeout_ns))
		return;
	for (size_t i = 0; i < count; i++)
		if (mappings[i].file < unwinding->place_count &&
		    unwinding->places[mappings[i].file].of_cuda)
			mappings[i].file |= AGENT_TABLE_OF_CUDA;
	agent_stacks_put_space(stacks, mappings, count);
}
