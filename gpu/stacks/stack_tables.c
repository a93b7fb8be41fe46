/* SPDX-License-Identifier: MIT */
#include "stack_tables.h"

_Static_assert(UNWIND_RULES_MAX == STACK_TABLES_OF_CUDA,
	       "a number of a rule fits its part of what is found");

bool stack_tables_open(struct stack_tables *tables, const struct agent_tables *shared,
		       u64 mapped_bytes)
{
	if (mapped_bytes < sizeof(*shared))
		return false;
	tables->shared = shared;
	tables->word_count = (mapped_bytes - sizeof(*shared)) / sizeof(shared->words[0]);
	return true;
}

struct stack_space stack_tables_space(const struct stack_tables *tables)
{
	u32 filled = __atomic_load_n(&tables->shared->filled, __ATOMIC_ACQUIRE);
	const struct agent_space *mappings = &tables->shared->spaces[filled % 2];

	if (!filled)
		return (struct stack_space){0};
	return (struct stack_space){mappings,
				    mappings->count < UNWIND_PROCESS_MAX ? mappings->count
									 : UNWIND_PROCESS_MAX,
				    filled};
}

bool stack_tables_space_lasts(const struct stack_tables *tables, const struct stack_space *space)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	/* The next one is filled into the other place, and the one behind that into this one. */
	return __atomic_load_n(&tables->shared->filled, __ATOMIC_RELAXED) == space->filled;
}

/* The last mapping that begins at or below the address; NULL: it is not in it. */
static const struct unwind_mapping *mapping_find(const struct stack_space *space, u64 address)
{
	const struct unwind_mapping *mappings = space->mappings->mappings;
	u32 low = 0, high = space->count;

	while (high - low > 1) {
		u32 middle = low + (high - low) / 2;

		if (address >= mappings[middle].start)
			low = middle;
		else
			high = middle;
	}
	if (!space->count || address < mappings[low].start || address >= mappings[low].end)
		return NULL;
	return &mappings[low];
}

/* Among the rows of a page. */
static u32 row_find(const u32 *rows, u32 count, u64 address)
{
	u32 low = 0, high = count;

	while (high - low > 1) {
		u32 middle = low + (high - low) / 2;

		if (address >= UNWIND_ROW_ADDRESS(rows[middle]))
			low = middle;
		else
			high = middle;
	}
	return UNWIND_ROW_RULE(rows[low]);
}

/* Of an address of a file whose words begin at `begin`. */
static u32 words_find(const struct stack_tables *tables, u64 begin, u64 address)
{
	u64 limit = tables->word_count, page, rows;
	const u32 *words;
	u32 first, count;

	if (begin >= limit || begin + UNWIND_PAGE(0) > limit)
		return UNWIND_RULE_NOT_READY;
	words = tables->shared->words + begin;
	page = address / UNWIND_PAGE_BYTES - words[UNWIND_FIRST_PAGE];
	if (page >= words[UNWIND_PAGE_COUNT] || begin + UNWIND_PAGE(page + 1) > limit)
		return UNWIND_RULE_NONE;
	/* Both words, which gpuprobe may be replacing. */
	rows = __atomic_load_n((const u64 *)&words[UNWIND_PAGE(page)], __ATOMIC_ACQUIRE);
	first = (u32)rows;
	count = rows >> 32;
	if (!count || begin + first + count > limit)
		return UNWIND_RULE_NONE;
	return row_find(words + first, count, address % UNWIND_PAGE_BYTES);
}

/* Of an address of a mapping, which is NULL where it is in none. */
static u32 rule_find(const struct stack_tables *tables, const struct unwind_mapping *mapping,
		     u64 address)
{
	u32 begin;

	if (!mapping)
		return UNWIND_RULE_NO_MAPPING;
	begin = (u32)mapping->file;
	if (begin == UNWIND_NO_TABLE)
		return UNWIND_RULE_SEARCHED;
	if (begin == AGENT_TABLE_NOT_READY || begin % 2)
		return UNWIND_RULE_NOT_READY;
	return words_find(tables, begin, address - mapping->bias) % UNWIND_RULES_MAX;
}

u32 stack_tables_search(struct stack_tables *tables, const struct stack_space *space, u64 address,
			u64 spread)
{
	const struct unwind_mapping *mapping = mapping_find(space, address);
	u32 rule = rule_find(tables, mapping, address);
	u32 found =
		rule | (mapping && mapping->file & AGENT_TABLE_OF_CUDA ? STACK_TABLES_OF_CUDA : 0);

	/* Of code without rules some may come. */
	if (rule != UNWIND_RULE_NONE && rule != UNWIND_RULE_NOT_READY)
		__atomic_store_n(&tables->cache[spread % STACK_TABLES_CACHED],
				 STACK_TABLES_TAG(spread) << STACK_TABLES_FOUND_BITS | found,
				 __ATOMIC_RELAXED);
	return found;
}
