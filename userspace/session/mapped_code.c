/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/mapped_code.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"

/* One that loads library after library (Python, importing) is judged so often at most. */
#define PAUSE_NS (100 * NS_PER_MILLISECOND)

struct process {
	u32 pid;
	bool pending;
	u64 noted_ns;  /* since when it is pending */
	u64 judged_ns; /* the last time */
};

struct mapped_code {
	struct mapped_code_config config;
	struct process
		*processes; /* that have ever mapped code, and not ended when last looked at */
	size_t count, capacity;
	struct map known;
	struct mapped_code_status status;
};

struct mapped_code *mapped_code_create(const struct mapped_code_config *config)
{
	struct mapped_code *mapped = calloc(1, sizeof(*mapped));

	if (mapped)
		mapped->config = *config;
	return mapped;
}

struct mapped_code *mapped_code_free(struct mapped_code *mapped)
{
	if (!mapped)
		return NULL;
	map_free(&mapped->known);
	free(mapped->processes);
	free(mapped);
	return NULL;
}

/* Without memory it stays as it is: without durations. */
void mapped_code_note(struct mapped_code *mapped, u32 pid, u64 ts)
{
	struct process *process = NULL;

	for (size_t i = 0; i < mapped->count && !process; i++)
		if (mapped->processes[i].pid == pid)
			process = &mapped->processes[i];
	if (!process) {
		if (array_reserve(&mapped->processes, &mapped->capacity, mapped->count + 1))
			return;
		process = &mapped->processes[mapped->count++];
		*process = (struct process){.pid = pid};
	}
	if (!process->pending)
		process->noted_ns = ts;
	process->pending = true;
}

static int is_harmless(struct mapped_code *mapped, u32 pid, bool *ret_harmless)
{
	const struct mapped_code_config *config = &mapped->config;
	const struct target *known = target_find(config->targets, config->target_count, pid);
	struct target target;
	int result;

	if (known)
		return plan_judge_again(known, &mapped->known, ret_harmless, NULL);
	result = target_open(pid, false, &target, NULL);
	if (result)
		return result;
	result = plan_judge_again(&target, &mapped->known, ret_harmless, NULL);
	target_close(&target);
	return result;
}

/* False: it is gone, or can't be read, or is never to be judged again. */
static bool process_judge(struct mapped_code *mapped, struct process *process)
{
	struct bpf_source *source = mapped->config.source;
	/* Read before its maps: what it maps later counts anew. */
	u32 changes = bpf_source_changes(source, process->pid);
	bool harmless = false;

	if (!changes || changes & CHANGED_FOR_GOOD || is_harmless(mapped, process->pid, &harmless))
		return false;
	if (!harmless) {
		mapped->status.harmful_count++;
		return false;
	}
	if (bpf_source_judge(source, process->pid, changes))
		return false;
	process->judged_ns = clock_monotonic_ns();
	/* Of what it mapped meanwhile nobody tells. */
	process->pending = bpf_source_changes(source, process->pid) != changes;
	if (process->pending)
		return true;
	mapped->status.harmless_count++;
	if (process->judged_ns - process->noted_ns > mapped->status.harmless_max_ns)
		mapped->status.harmless_max_ns = process->judged_ns - process->noted_ns;
	return true;
}

void mapped_code_judge(struct mapped_code *mapped, bool all)
{
	size_t kept = 0;

	for (size_t i = 0; i < mapped->count; i++) {
		struct process process = mapped->processes[i];
		bool due = all || clock_monotonic_ns() - process.judged_ns >= PAUSE_NS;

		if (!process.pending || !due || process_judge(mapped, &process))
			mapped->processes[kept++] = process;
	}
	mapped->count = kept;
}

struct mapped_code_status mapped_code_status(const struct mapped_code *mapped)
{
	return mapped->status;
}
