/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/agent/agent_stacks.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>

/* Of a file. */
enum field { FIELD_BEGIN, FIELD_VERSION };

void agent_stacks_put_rules(struct agent_stacks *stacks, const struct unwind_rules *rules)
{
	size_t first = stacks->rule_count;

	if (rules->count <= first)
		return;
	memcpy(&stacks->shared->rules[first], &rules->items[first],
	       (rules->count - first) * sizeof(*rules->items));
	stacks->rule_count = rules->count;
}

/* An agent may be reading them: rows that replace others lie behind those, and what leads to the rows of a page is one word of 64 bits. */
static void copy_words(u32 *to, const struct unwind_words *words)
{
	size_t first = UNWIND_PAGE((size_t)words->items[UNWIND_PAGE_COUNT]);

	memcpy(to + first, words->items + first, (words->used - first) * sizeof(*to));
	__atomic_thread_fence(__ATOMIC_RELEASE);
	for (size_t i = 0; i < first; i += 2) {
		u64 word;

		memcpy(&word, words->items + i, sizeof(word));
		__atomic_store_n((u64 *)(to + i), word, __ATOMIC_RELAXED);
	}
}

/* Ours, not the target's, whose memory cgroup would be charged for what it touches first; and where there is none left it is said here. */
static int take_memory(const struct agent_stacks *stacks, size_t begin, size_t count)
{
	u64 offset = offsetof(struct agent_tables, words) + begin * sizeof(u32);

	if (stacks->fd < 0 || !fallocate(stacks->fd, 0, (off_t)(stacks->offset + offset),
					 (off_t)(count * sizeof(u32))))
		return 0;
	return errno == EOPNOTSUPP ? 0 : -ENOSPC;
}

/* Whole chunks, so the next one begins evenly too. */
static int place_file(struct agent_stacks *stacks, u32 file, size_t count, u64 *ret_begin)
{
	int result;

	if (count > AGENT_TABLE_WORDS - stacks->word_count)
		return -ENOSPC;
	result = take_memory(stacks, stacks->word_count, count);
	if (!result)
		result = map_set(&stacks->begins, file, FIELD_BEGIN, stacks->word_count);
	if (result)
		return result;
	*ret_begin = stacks->word_count;
	stacks->word_count += count;
	return 0;
}

int agent_stacks_put_file(struct agent_stacks *stacks, u32 file, u64 version,
			  const struct unwind_words *words)
{
	const u64 *known = map_find(&stacks->begins, file, FIELD_BEGIN);
	const u64 *put = map_find(&stacks->begins, file, FIELD_VERSION);
	u64 begin = known ? *known : 0;
	int result = 0;

	if (known && put && *put == version)
		return 0;
	if (!known)
		result = place_file(stacks, file, words->count, &begin);
	if (!result)
		result = map_set(&stacks->begins, file, FIELD_VERSION, version);
	if (!result)
		copy_words(stacks->shared->words + begin, words);
	return result;
}

/* As the agent has it. */
static struct unwind_mapping mapping_of(const struct agent_stacks *stacks,
					const struct unwind_mapping *mapping)
{
	struct unwind_mapping its = *mapping;
	const u64 *begin = map_find(&stacks->begins, (u32)mapping->file, FIELD_BEGIN);

	if (mapping->file != UNWIND_NO_TABLE)
		its.file = (mapping->file & AGENT_TABLE_OF_CUDA) |
			   (begin ? *begin : AGENT_TABLE_NOT_READY);
	return its;
}

static u64 hash_of(const struct agent_stacks *stacks, const struct unwind_mapping *mappings,
		   size_t count)
{
	u64 hash = count + 1;

	for (size_t i = 0; i < count; i++) {
		struct unwind_mapping its = mapping_of(stacks, &mappings[i]);
		const u64 words[] = {its.start, its.end, its.bias, its.file};

		for (size_t j = 0; j < ARRAY_SIZE(words); j++)
			hash = (hash ^ words[j] ^ hash >> 32) * 0x9e3779b97f4a7c15ULL;
	}
	return hash;
}

void agent_stacks_put_space(struct agent_stacks *stacks, const struct unwind_mapping *mappings,
			    size_t count)
{
	struct agent_space *space = &stacks->shared->spaces[(stacks->filled + 1) % 2];
	u64 hash;

	if (count > UNWIND_PROCESS_MAX)
		count = UNWIND_PROCESS_MAX;
	hash = hash_of(stacks, mappings, count);
	if (stacks->filled && hash == stacks->mappings)
		return;
	stacks->mappings = hash;
	for (size_t i = 0; i < count; i++)
		space->mappings[i] = mapping_of(stacks, &mappings[i]);
	space->count = (u32)count;
	stacks->filled++;
	__atomic_store_n(&stacks->shared->filled, stacks->filled, __ATOMIC_RELEASE);
}

void agent_stacks_put_python(struct agent_stacks *stacks, const struct python_process *process)
{
	struct python_process now = process ? *process : (struct python_process){0};

	/* Counted by the BPF programs, which know by it what they need not read again. */
	now.generation = 0;
	if (!memcmp(&now, &stacks->python, sizeof(now)))
		return;
	stacks->python = now;
	stacks->pythons_filled++;
	stacks->shared->pythons[stacks->pythons_filled % 2] = now;
	__atomic_store_n(&stacks->shared->pythons_filled, stacks->pythons_filled, __ATOMIC_RELEASE);
}

void agent_stacks_free(struct agent_stacks *stacks)
{
	map_free(&stacks->begins);
}
