/* SPDX-License-Identifier: MIT */
#include "nvtx_ranges.h"

#include "../base/system.h"

#define THREADS	      2048U
#define THREADS_TRIED 32U
#define STARTED	      8192U
#define STARTED_TRIED 16U
#define ID_NONE	      0ULL
#define ID_BUSY	      (~0ULL)

struct stack {
	u64 self;
	u32 depth;
	u32 lost; /* pushes behind depth that found no room */
	struct nvtx_range ranges[NVTX_DEPTH_MAX];
};

struct started {
	u64 id;
	struct nvtx_range range;
};

struct nvtx_ranges {
	u64 next_id;
	u32 thread_count; /* those of tids[] that are not 0 */
	u32 pad;
	u32 tids[THREADS];
	struct started started[STARTED];
	struct stack stacks[THREADS];
};

struct nvtx_ranges *nvtx_ranges_open(u64 first_id)
{
	struct nvtx_ranges *ranges = system_map(sizeof(*ranges));

	if (ranges)
		ranges->next_id = first_id;
	return ranges;
}

void nvtx_ranges_close(struct nvtx_ranges *ranges)
{
	system_unmap(ranges, sizeof(*ranges));
}

/* ---- stacks ---- */

/* Where a thread may be kept, as the i-th choice. Threads that are made one after the other have places of their own; those whose
 * ids are as far from each other as the table is long part ways behind the first one (steps of MurmurHash3's finalizer). */
static u32 place_of(u32 tid, u32 i)
{
	u32 mixed = (tid * THREADS_TRIED + i) * 0x85ebca6bU;

	mixed = (mixed ^ mixed >> 13) * 0xc2b2ae35U;
	return i ? (mixed ^ mixed >> 16) % THREADS : tid % THREADS;
}

/* An id may be that of a thread which has ended: then self differs, and what it left is void. */
static struct stack *stack_of(struct nvtx_ranges *ranges, u32 tid, u64 self)
{
	for (u32 i = 0; i < THREADS_TRIED; i++) {
		u32 index = place_of(tid, i);
		struct stack *stack = &ranges->stacks[index];

		if (__atomic_load_n(&ranges->tids[index], __ATOMIC_ACQUIRE) != tid)
			continue;
		if (stack->self != self)
			stack->depth = stack->lost = 0;
		stack->self = self;
		return stack;
	}
	return NULL;
}

static struct stack *stack_make(struct nvtx_ranges *ranges, u32 tid, u64 self)
{
	for (u32 i = 0; i < THREADS_TRIED; i++) {
		u32 index = place_of(tid, i), nobody = 0;

		if (!__atomic_compare_exchange_n(&ranges->tids[index], &nobody, tid, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		__atomic_fetch_add(&ranges->thread_count, 1, __ATOMIC_RELAXED);
		ranges->stacks[index].self = self;
		ranges->stacks[index].depth = ranges->stacks[index].lost = 0;
		return &ranges->stacks[index];
	}
	return NULL;
}

bool nvtx_ranges_push(struct nvtx_ranges *ranges, u32 tid, u64 self, const struct nvtx_range *range)
{
	struct stack *stack = stack_of(ranges, tid, self);
	u32 depth;

	if (!stack)
		stack = stack_make(ranges, tid, self);
	if (!stack)
		return false;
	depth = stack->depth;
	if (depth >= NVTX_DEPTH_MAX) {
		stack->lost++;
		return false;
	}
	/* Taken before it is filled: a handler of a signal may come in between, with ranges of its own. */
	__atomic_store_n(&stack->depth, depth + 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	stack->ranges[depth] = *range;
	return true;
}

enum nvtx_popped nvtx_ranges_pop(struct nvtx_ranges *ranges, u32 tid, u64 self, u64 domain,
				 struct nvtx_range *ret_range)
{
	struct stack *stack = stack_of(ranges, tid, self);
	u32 at, depth;

	if (!stack)
		return NVTX_POPPED_UNKNOWN;
	if (stack->lost) {
		stack->lost--;
		return NVTX_POPPED_LOST;
	}
	depth = stack->depth < NVTX_DEPTH_MAX ? stack->depth : NVTX_DEPTH_MAX;
	for (at = depth; at; at--)
		if (stack->ranges[at - 1].domain == domain)
			break;
	if (!at)
		return NVTX_POPPED_UNKNOWN;
	*ret_range = stack->ranges[at - 1];
	for (; at < depth; at++)
		stack->ranges[at - 1] = stack->ranges[at];
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&stack->depth, depth - 1, __ATOMIC_RELAXED);
	return NVTX_POPPED;
}

/* ---- by id ---- */

u64 nvtx_ranges_start(struct nvtx_ranges *ranges, const struct nvtx_range *range, bool *ret_kept)
{
	u64 id = __atomic_fetch_add(&ranges->next_id, 1, __ATOMIC_RELAXED);

	*ret_kept = true;
	for (u32 i = 0; i < STARTED_TRIED; i++) {
		struct started *started = &ranges->started[(id + i) % STARTED];
		u64 none = ID_NONE;

		if (!__atomic_compare_exchange_n(&started->id, &none, ID_BUSY, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		started->range = *range;
		__atomic_store_n(&started->id, id, __ATOMIC_RELEASE);
		return id;
	}
	*ret_kept = false;
	return id;
}

bool nvtx_ranges_end(struct nvtx_ranges *ranges, u64 id, struct nvtx_range *ret_range)
{
	if (id == ID_NONE || id == ID_BUSY)
		return false;
	for (u32 i = 0; i < STARTED_TRIED; i++) {
		struct started *started = &ranges->started[(id + i) % STARTED];
		u64 expected = id;

		if (!__atomic_compare_exchange_n(&started->id, &expected, ID_BUSY, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		*ret_range = started->range;
		__atomic_store_n(&started->id, ID_NONE, __ATOMIC_RELEASE);
		return true;
	}
	return false;
}

/* ---- all of them ---- */

static bool is_counted(const struct nvtx_ranges *ranges)
{
	return __atomic_load_n(&ranges->thread_count, __ATOMIC_RELAXED);
}

void nvtx_ranges_sweep(struct nvtx_ranges *ranges, bool (*lives)(void *data, u32 tid),
		       void (*found)(void *data, const struct nvtx_range *range), void *data)
{
	for (u32 i = 0; i < THREADS && is_counted(ranges); i++) {
		u32 tid = __atomic_load_n(&ranges->tids[i], __ATOMIC_ACQUIRE);
		struct stack *stack = &ranges->stacks[i];

		if (!tid || lives(data, tid))
			continue;
		for (u32 j = 0; j < stack->depth && j < NVTX_DEPTH_MAX; j++)
			found(data, &stack->ranges[j]);
		/* A new thread with its id has made the stack its own by now, or gets another one. */
		stack->depth = stack->lost = 0;
		__atomic_fetch_sub(&ranges->thread_count, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&ranges->tids[i], 0, __ATOMIC_RELEASE);
	}
}

void nvtx_ranges_each(struct nvtx_ranges *ranges,
		      void (*found)(void *data, const struct nvtx_range *range, bool process_wide),
		      void *data)
{
	for (u32 i = 0; i < THREADS && is_counted(ranges); i++) {
		const struct stack *stack = &ranges->stacks[i];

		for (u32 j = 0; ranges->tids[i] && j < stack->depth && j < NVTX_DEPTH_MAX; j++)
			found(data, &stack->ranges[j], false);
	}
	for (u32 i = 0; i < STARTED; i++)
		if (ranges->started[i].id != ID_NONE && ranges->started[i].id != ID_BUSY)
			found(data, &ranges->started[i].range, true);
}
