/* SPDX-License-Identifier: MIT */
/*
 * The unwind tables that gpuprobe shares with the agent (struct agent_tables): which rule leads from code to its caller. Whatever stands
 * there, nothing outside of them is read. Any thread, at once; nothing blocks.
 */
#ifndef GPUPROBE_GPU_STACK_TABLES_H
#define GPUPROBE_GPU_STACK_TABLES_H

#include "../base/types.h"
#include "../tables.h"

#define STACK_TABLES_CACHED 8192U

struct stack_tables {
	const struct agent_tables *shared;
	u32 word_count;
	/* Where addresses led: what was found, and above it what is left of the address. */
	u64 cache[STACK_TABLES_CACHED];
};

/* What the process maps, as it was when a walk began. */
struct stack_space {
	const struct agent_space *mappings; /* NULL: it was not told yet */
	u32 count;
	u32 filled; /* that of the tables */
};

/* mapped_bytes: from shared on. False: it is too little. */
bool stack_tables_open(struct stack_tables *tables, const struct agent_tables *shared,
		       u64 mapped_bytes);
struct stack_space stack_tables_space(const struct stack_tables *tables);
/* Was what a walk has read there until now? */
bool stack_tables_space_lasts(const struct stack_tables *tables, const struct stack_space *space);

/* What is found of the code at an address: the number of its rule, and whether it is CUDA's or CUPTI's. */
#define STACK_TABLES_FOUND_BITS	 17
#define STACK_TABLES_OF_CUDA	 (1U << 16)
#define STACK_TABLES_RULE(found) ((found) % STACK_TABLES_OF_CUDA)

/* That, which is noted in the cache, at spread. */
u32 stack_tables_search(struct stack_tables *tables, const struct stack_space *space, u64 address,
			u64 spread);

/* What is left of an address in the cache; the place is told by the low bits. */
#define STACK_TABLES_TAG(spread) ((spread) >> STACK_TABLES_FOUND_BITS)

static inline u32 stack_tables_find(struct stack_tables *tables, const struct stack_space *space,
				    u64 address)
{
	u64 spread = (address ^ (u64)space->filled << 48) * 0x9e3779b97f4a7c15ULL;
	u64 entry = __atomic_load_n(&tables->cache[spread % STACK_TABLES_CACHED], __ATOMIC_RELAXED);

	if (entry >> STACK_TABLES_FOUND_BITS == STACK_TABLES_TAG(spread) && entry)
		return entry % (1U << STACK_TABLES_FOUND_BITS);
	return stack_tables_search(tables, space, address, spread);
}

static inline const struct unwind_rule *stack_tables_rule(const struct stack_tables *tables,
							  u32 number)
{
	return &tables->shared->rules[number % UNWIND_RULES_MAX];
}

#endif
