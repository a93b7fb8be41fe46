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

bool stack_memory_ask(struct stack_memory *memory, u32 moment, u64 page)
{
	if (!ask_kernel(page * PAGE_BYTES))
		return false;
	__atomic_store_n(&memory->pages[page % STACK_MEMORY_PAGES],
			 STACK_MEMORY_ENTRY(page, moment), __ATOMIC_RELAXED);
	return true;
}
