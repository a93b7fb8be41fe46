/* SPDX-License-Identifier: MIT */
#include "stack_ids.h"

#include <string.h>

#include "../../bpf/record.h"

#define PLACES_TRIED 64U
#define BEING_SENT   2 /* hashes are odd */

static u64 mix(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 29;
}

/* In four lanes, since each step waits for the one before. Never 0. The same addresses may end in another way, later. */
static u64 hash_of(const struct stack_walk *walk)
{
	u64 lanes[] = {walk->depth, (u64)walk->guessed << 8 | walk->end, 2, 3};
	const u64 *addresses = walk->addresses;
	u32 i = 0;

	for (; i + ARRAY_SIZE(lanes) <= walk->depth; i += ARRAY_SIZE(lanes))
		for (u32 lane = 0; lane < ARRAY_SIZE(lanes); lane++)
			lanes[lane] = mix(lanes[lane], addresses[i + lane]);
	for (u32 lane = 0; i < walk->depth; i++, lane++)
		lanes[lane] = mix(lanes[lane], addresses[i]);
	return mix(mix(mix(lanes[0], lanes[1]), lanes[2]), lanes[3]) | 1;
}

/* False: the ring has no room. */
static bool send(struct ring_writer *writer, const struct stack_walk *walk, u32 id, u32 pid,
		 u64 now_ns)
{
	u32 bytes = sizeof(struct record_stack) + walk->depth * sizeof(walk->addresses[0]);
	struct record_stack *stack = ring_reserve(writer, bytes);

	if (!stack)
		return false;
	*stack = (struct record_stack){
		.header = {.size_bytes = bytes, .kind = KIND_stack, .ts = now_ns, .pid = pid},
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

enum stack_sent stack_ids_get(struct stack_ids *ids, struct ring_writer *writer,
			      const struct stack_walk *walk, u32 pid, u64 now_ns, u32 *ret_id)
{
	u64 hash = hash_of(walk);

	for (u32 i = 0; i < PLACES_TRIED; i++) {
		u32 place = ((hash >> 40) + i) % STACK_IDS_MAX;
		u64 *slot = &ids->hashes[place], known = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
		bool sent;

		*ret_id = STACK_IDS_FIRST + place;
		if (known == hash)
			return STACK_SENT;
		/* What another thread is about to send has another place here. */
		if (known || !__atomic_compare_exchange_n(slot, &known, BEING_SENT, false,
							  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		sent = send(writer, walk, *ret_id, pid, now_ns);
		__atomic_store_n(slot, sent ? hash : 0, __ATOMIC_RELEASE);
		return sent ? STACK_SENT : STACK_RING_FULL;
	}
	return STACK_NO_PLACE;
}
