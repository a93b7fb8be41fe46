/* SPDX-License-Identifier: MIT */
#include "stack_memory.h"

#include <errno.h>
#include <sys/syscall.h>

#include "../base/arch_x86_64.h"

#define MOMENT_BITS    20				     /* of ns: a millisecond */
#define MOMENTS	       (1U << (64 - STACK_MEMORY_PAGE_BITS)) /* of six days */
#define SIGSET_BYTES   8
#define NO_SUCH_CHANGE (-1) /* of a mask of signals: refused, but behind the reading of the mask */

u32 stack_memory_moment(u64 now_ns)
{
	return (now_ns >> MOMENT_BITS) % MOMENTS;
}

/* A call that every process may make, and that changes nothing. */
static bool ask_kernel(u64 page)
{
	return arch_syscall(SYS_rt_sigprocmask, NO_SUCH_CHANGE, (long)page, 0, SIGSET_BYTES, 0,
			    0) == -EINVAL;
}

bool stack_memory_is_there(u64 address)
{
	return ask_kernel(address / PAGE_BYTES * PAGE_BYTES);
}

/* Where one is noted: in the place of one that was asked for in another moment, so that two of one set do not drive each other out. */
static void note(u64 *set, u32 moment, u64 page)
{
	u32 way = 0;

	for (u32 i = 0; i < STACK_MEMORY_WAYS; i++)
		if (__atomic_load_n(&set[i], __ATOMIC_RELAXED) % MOMENTS != moment) {
			way = i;
			break;
		}
	__atomic_store_n(&set[way], STACK_MEMORY_ENTRY(page, moment), __ATOMIC_RELAXED);
}

bool stack_memory_ask(struct stack_memory *memory, u32 moment, u64 page)
{
	u64 *set = stack_memory_set(memory, page);

	for (u32 i = 0; i < STACK_MEMORY_WAYS; i++)
		if (__atomic_load_n(&set[i], __ATOMIC_RELAXED) == STACK_MEMORY_ENTRY(page, moment))
			return true;
	if (!ask_kernel(page * PAGE_BYTES))
		return false;
	note(set, moment, page);
	return true;
}

bool stack_memory_cover(struct stack_memory *memory, u32 moment, struct stack_memory_range *range,
			u64 address, u32 bytes)
{
	u64 first = address / PAGE_BYTES * PAGE_BYTES;
	u64 last = (address + bytes - 1) / PAGE_BYTES * PAGE_BYTES, end = last + PAGE_BYTES;

	if (!bytes || last < first || last - first > PAGE_BYTES ||
	    !stack_memory_at(memory, moment, first, 1) ||
	    (last != first && !stack_memory_at(memory, moment, last, 1)))
		return false;
	/* It grows by what touches it. */
	if (first <= range->start + range->bytes && range->start <= end) {
		first = first < range->start ? first : range->start;
		end = end > range->start + range->bytes ? end : range->start + range->bytes;
	}
	range->start = first;
	range->bytes = end - first;
	return true;
}
