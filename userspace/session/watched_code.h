/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes that are recorded, and where in each of them the code is that is probed, as it was when that was looked at last; the BPF
 * programs are told (bpf/code_writes.bpf.c).
 */
#ifndef GPUPROBE_SESSION_WATCHED_CODE_H
#define GPUPROBE_SESSION_WATCHED_CODE_H

#include "session/probed_pieces.h"

struct watched_process {
	u32 pid;
	u64 start_time_ticks; /* another one may have that number later */
	bool stale;	      /* it has mapped code since */
	struct probed_pieces pieces;
};

struct watched_code {
	const struct bpf_source *source;
	const struct plan *plan, *heap_plan; /* heap_plan: NULL: none */
	struct watched_process **items;
	size_t count, capacity;
};

/* Files of the plans. Before any process. */
void watched_code_begin(struct watched_code *watched);
/* Looks at a process, and has it watched. What was noted of pieces that are still there holds, and those that are gone stay; executed:
 * nothing of before does. 0 or -ENOMEM. */
int watched_code_look(struct watched_code *watched, const struct target *target,
		      const struct code_memory *memory, bool executed,
		      struct watched_process **ret_process);
/* NULL: it was not looked at. */
struct watched_process *watched_code_find(const struct watched_code *watched,
					  const struct target *target);
/* Those that have ended. */
void watched_code_prune(struct watched_code *watched);
void watched_code_free(struct watched_code *watched);

#endif
