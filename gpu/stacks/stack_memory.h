/* SPDX-License-Identifier: MIT */
/*
 * Memory of the process that may not be there: a walk of a stack goes where words of it lead to, and where one misleads, the target must
 * not die of it. Whether a page can be read the kernel is asked once in a while. Any thread, at once; nothing blocks.
 */
#ifndef GPUPROBE_GPU_STACK_MEMORY_H
#define GPUPROBE_GPU_STACK_MEMORY_H

#include "../base/types.h"

#define STACK_MEMORY_SETS		 256U
#define STACK_MEMORY_WAYS		 4U
#define STACK_MEMORY_PAGE_BITS		 35 /* of a program, with four levels of pages */
#define STACK_MEMORY_ENTRY(page, moment) ((page) << (64 - STACK_MEMORY_PAGE_BITS) | (moment))

/* Wherever it stands. */
struct stack_memory_word {
	u64 value;
} __attribute__((packed, may_alias));

struct stack_memory {
	/* Of pages that could be read: which, and in which moment that was. Those of a set are looked for in the same place. */
	u64 pages[STACK_MEMORY_SETS][STACK_MEMORY_WAYS];
};

/* The moment that a time is in. What could be read in it is believed to be there until it is over. */
u32 stack_memory_moment(u64 now_ns);
/* Can the page of this address be read now? */
bool stack_memory_is_there(u64 address);
/* The same of a page by its number; what can is noted. */
bool stack_memory_ask(struct stack_memory *memory, u32 moment, u64 page);

/* Bytes that could be read in a moment, pages of them. Zero-initialise. */
struct stack_memory_range {
	u64 start, bytes;
};

/* Can these be read, of two pages at most? If so, they are in the range. */
bool stack_memory_cover(struct stack_memory *memory, u32 moment, struct stack_memory_range *range,
			u64 address, u32 bytes);

/* The same, mostly without a call. */
static inline bool stack_memory_covers(struct stack_memory *memory, u32 moment,
				       struct stack_memory_range *range, u64 address, u32 bytes)
{
	u64 offset = address - range->start;

	return (offset < range->bytes && range->bytes - offset >= bytes) ||
	       stack_memory_cover(memory, moment, range, address, bytes);
}

/* Neighbours are in different sets, and so are the same pages of regions that begin at multiples of 1 MiB. */
static inline u64 *stack_memory_set(struct stack_memory *memory, u64 page)
{
	return memory->pages[(page ^ page >> 8) % STACK_MEMORY_SETS];
}

/* Bytes of one page, where they stand; NULL: they can't be read, or lie in two pages. */
static inline const void *stack_memory_at(struct stack_memory *memory, u32 moment, u64 address,
					  u32 bytes)
{
	u64 page = address / PAGE_BYTES;

	if (address % PAGE_BYTES + bytes > PAGE_BYTES || !page || page >> STACK_MEMORY_PAGE_BITS)
		return NULL;
	if (__atomic_load_n(stack_memory_set(memory, page), __ATOMIC_RELAXED) !=
		    STACK_MEMORY_ENTRY(page, moment) &&
	    !stack_memory_ask(memory, moment, page))
		return NULL;
	return (const void *)address;
}

/* The word at an address. False: it can't be read, or lies in two pages. What a sanitizer holds against it is no fault here. */
__attribute__((no_sanitize_address)) static inline bool
stack_memory_read(struct stack_memory *memory, u32 moment, u64 address, u64 *ret_word)
{
	const void *place = stack_memory_at(memory, moment, address, sizeof(*ret_word));

	if (!place)
		return false;
	*ret_word = ((const struct stack_memory_word *)place)->value;
	return true;
}

#endif
