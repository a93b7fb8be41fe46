/* SPDX-License-Identifier: MIT */
#include "stack_ids.h"

#include <string.h>

#include "../../bpf/record.h"

#define PLACES_TRIED 64U

/* Never 0. The same addresses may end in another way, later. */
static u64 hash_of(const struct stack_walk *walk)
{
	u64 hash = (walk->hash ^ ((u64)walk->guessed << 8 | walk->end)) * 0x9e3779b97f4a7c15ULL;

	return (hash ^ hash >> 29) | 1;
}

/* False: the ring has no room. */
static bool send(struct ring_writer *writer, const struct stack_walk *walk, u32 id, u32 pid,
		 u64 fact_ns)
{
	u32 bytes = sizeof(struct record_stack) + walk->depth * sizeof(walk->addresses[0]);
	struct record_stack *stack = ring_reserve(writer, bytes);

	if (!stack)
		return false;
	*stack = (struct record_stack){
		.header = {.size_bytes = bytes, .kind = KIND_stack, .ts = fact_ns, .pid = pid},
		.id = id,
		.depth = walk->depth,
		.end = walk->end,
		.guessed = walk->guessed,
		.guessed_first = walk->guesses[0],
		.guessed_rest = walk->guesses[1],
	};
	memcpy(stack + 1, walk->addresses, walk->depth * sizeof(walk->addresses[0]));
	ring_commit(writer, bytes);
	return true;
}

u32 stack_ids_get(struct stack_ids *ids, struct ring_writer *writer, const struct stack_walk *walk,
		  u32 pid, u64 fact_ns)
{
	u64 hash = hash_of(walk);

	for (u32 i = 0; i < PLACES_TRIED; i++) {
		u32 place = ((hash >> 40) + i) % STACK_IDS_MAX;
		u64 *slot = &ids->hashes[place], known = __atomic_load_n(slot, __ATOMIC_RELAXED);

		if (!known && __atomic_compare_exchange_n(slot, &known, hash, false,
							  __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			if (send(writer, walk, STACK_IDS_FIRST + place, pid, fact_ns))
				return STACK_IDS_FIRST + place;
			/* Whoever met it meanwhile refers to nothing. */
			__atomic_store_n(slot, 0, __ATOMIC_RELAXED);
			return 0;
		}
		if (known == hash)
			return STACK_IDS_FIRST + place;
	}
	return 0;
}
