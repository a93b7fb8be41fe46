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

/* With the lock of the tables. */
static void share_tables(struct unwinding *unwinding, struct agent_stacks *stacks,
			 struct unwind_mapping *mappings, size_t count)
{
	const struct unwind_tables *tables = &unwinding->tables;
	bool mended = stacks->mended != tables->mended;

	stacks->mended = tables->mended;
	for (size_t i = 0; i < count; i++) {
		u32 file = (u32)mappings[i].file;
		bool is_same = i && mappings[i - 1].file == file;

		if (file != UNWIND_NO_TABLE && !is_same &&
		    (mended || !agent_stacks_has_file(stacks, file)))
			unwind_tables_share(tables, file, stacks);
	}
	for (size_t i = 0; i < count; i++)
		if (mappings[i].file < unwinding->place_count &&
		    unwinding->places[mappings[i].file].of_cuda)
			mappings[i].file |= AGENT_TABLE_OF_CUDA;
	agent_stacks_put_space(stacks, mappings, count);
}

void unwinding_share(struct unwinding *unwinding, const struct code_map *map, u32 pid,
		     struct agent_stacks *stacks, bool wait)
{
	const struct code_process *process = process_find(map, pid);
	_cleanup_free_ struct unwind_mapping *mappings = NULL;
	size_t count = 0, left_out = 0;

	if (!process || unwinding_mappings(unwinding, map, process, &mappings, &count) ||
	    unwind_space_fit(mappings, &count, UNWIND_PROCESS_MAX, &left_out))
		return;
	if (wait)
		pthread_mutex_lock(&unwinding->tables_lock);
	else if (pthread_mutex_trylock(&unwinding->tables_lock))
		return;
	share_tables(unwinding, stacks, mappings, count);
	pthread_mutex_unlock(&unwinding->tables_lock);
}
