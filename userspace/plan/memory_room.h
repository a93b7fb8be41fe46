/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes take the target's memory: the kernel copies every page that holds one, 4 KB each, charged to the
 * target's cgroup and mostly kept after detaching. CUPTI's buffers in it are its memory, too. At the cgroup's limit the
 * OOM killer takes the target, so the room is looked at before anything is attached.
 */
#ifndef GPUPROBE_PLAN_MEMORY_ROOM_H
#define GPUPROBE_PLAN_MEMORY_ROOM_H

#include "plan/plan.h"

/* Bytes that the probes of a plan copy in a target. */
u64 memory_room_needed(const struct plan *plan, size_t target);
/* Bytes that a target's memory cgroup, or one above it, has left; UINT64_MAX without a limit. */
u64 memory_room_left(const struct target *target);
/* -ENOMEM, naming the numbers and what to do, when a target has no room: probes may take a quarter of what
 * is left. */
int memory_room_check(const struct plan *plan, const struct target *targets, size_t target_count,
		      struct err *err);

/* How many of CUPTI's buffers may be in the target: *count, or fewer, which take a quarter of what is left. -ENOMEM with
 * the numbers when there is no room for the few that it takes. */
int memory_room_buffers(const struct target *target, u32 buffer_bytes, u32 *count, struct err *err);

#endif
