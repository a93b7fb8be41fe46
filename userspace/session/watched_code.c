/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/watched_code.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/array.h"

/* Which number BPF sees of a file on overlayfs depends on the kernel. */
static void put_numbers(const struct watched_code *watched, const struct file_numbers *numbers)
{
	(void)bpf_source_put_code_file(watched->source, numbers->maps_inode);
	(void)bpf_source_put_code_file(watched->source, numbers->inode);
}

static void put_files(const struct watched_code *watched, const struct plan *plan)
{
	struct code_pieces pieces = {0};

	for (size_t m = 0; m < plan->module_count; m++) {
		const struct code_module *module = &plan->modules[m];

		if (code_pieces_list(plan, m, &pieces) || !pieces.count)
			continue;
		put_numbers(watched, &module->numbers);
		for (size_t i = 0; i < module->twin_count; i++)
			put_numbers(watched, &module->twins[i]);
	}
	free(pieces.items);
}

void watched_code_begin(struct watched_code *watched)
{
	put_files(watched, watched->plan);
	if (watched->heap_plan)
		put_files(watched, watched->heap_plan);
}

struct watched_process *watched_code_find(const struct watched_code *watched,
					  const struct target *target)
{
	for (size_t i = 0; i < watched->count; i++)
		if (watched->items[i]->pid == target->pid &&
		    watched->items[i]->start_time_ticks == target->start_time_ticks)
			return watched->items[i];
	return NULL;
}

static struct watched_process *add(struct watched_code *watched, const struct target *target)
{
	struct watched_process *process = calloc(1, sizeof(*process));

	if (!process || array_reserve(&watched->items, &watched->capacity, watched->count + 1)) {
		free(process);
		return NULL;
	}
	process->pid = target->pid;
	process->start_time_ticks = target->start_time_ticks;
	watched->items[watched->count++] = process;
	return process;
}

static bool is_same(const struct probed_piece *a, const struct probed_piece *b)
{
	return a->start == b->start && a->number == b->number && a->heap == b->heap &&
	       a->file_offset == b->file_offset;
}

/* What may come back where it was stays known. Both are in the order of the plan, or nearly so. */
static int merge(struct probed_pieces *pieces, const struct probed_pieces *before)
{
	size_t listed = pieces->count, near = 0;

	for (size_t i = 0; i < before->count; i++) {
		const struct probed_piece *old = &before->items[i];
		size_t turn = 0, at = near;

		if (!old->gone && !old->written)
			continue;
		while (turn < listed && !is_same(&pieces->items[at], old)) {
			at = at + 1 < listed ? at + 1 : 0;
			turn++;
		}
		if (turn < listed) {
			pieces->items[at] = *old;
			near = at;
			continue;
		}
		if (array_reserve(&pieces->items, &pieces->capacity, pieces->count + 1))
			return -ENOMEM;
		pieces->items[pieces->count++] = *old;
	}
	return 0;
}

static int put(const struct watched_code *watched, const struct target *target,
	       const struct probed_pieces *pieces)
{
	struct probed_code *code = malloc(sizeof(*code));
	int result = code ? probed_pieces_pack(pieces, code) : -ENOMEM;

	/* Without it, it is compared at the end. */
	if (!result)
		(void)bpf_source_put_probed_code(watched->source, target->pid, code);
	/* Nobody would forget it later. */
	if (!result && target_is_gone(target))
		bpf_source_forget_probed_code(watched->source, target->pid);
	free(code);
	return result;
}

int watched_code_look(struct watched_code *watched, const struct target *target,
		      const struct code_memory *memory, bool executed,
		      struct watched_process **ret_process)
{
	struct watched_process *process = watched_code_find(watched, target);
	struct probed_pieces pieces = {0};
	int result = 0;

	if (!process)
		process = add(watched, target);
	if (!process)
		return -ENOMEM;
	process->stale = false;
	result = probed_pieces_list(watched->plan, watched->heap_plan, memory, &pieces);
	if (!result && !executed)
		result = merge(&pieces, &process->pieces);
	if (!result)
		result = put(watched, target, &pieces);
	if (result) {
		probed_pieces_free(&pieces);
		return result;
	}
	probed_pieces_free(&process->pieces);
	process->pieces = pieces;
	*ret_process = process;
	return 0;
}

static void process_free(struct watched_process *process)
{
	probed_pieces_free(&process->pieces);
	free(process);
}

void watched_code_prune(struct watched_code *watched)
{
	size_t kept = 0;

	for (size_t i = 0; i < watched->count; i++) {
		if (kill((pid_t)watched->items[i]->pid, 0) && errno == ESRCH)
			process_free(watched->items[i]);
		else
			watched->items[kept++] = watched->items[i];
	}
	watched->count = kept;
}

void watched_code_free(struct watched_code *watched)
{
	for (size_t i = 0; i < watched->count; i++)
		process_free(watched->items[i]);
	free(watched->items);
	*watched = (struct watched_code){0};
}
