/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a walk of a stack is (unwind.h), the mappings of its process, and the words of the stack that it reads. */
#ifndef GPUPROBE_BPF_UNWIND_WALK_H
#define GPUPROBE_BPF_UNWIND_WALK_H

#include "arch_x86_64.h"
#include "types.h"
#include "unwind_maps.h"

#define PAGE_NONE ((1ULL << 63) + 1) /* no program has an address near it */

/* A walk in progress. Of programs that may interrupt each other every one has its own. */
struct unwind_walk {
	u64 ip, sp, bp, bx;
	u64 cfa;
	u64 value;	/* that unwind_read() read */
	u64 page_at;	/* where the page was read, or PAGE_NONE */
	u64 trampoline; /* what an overwritten return address holds; 0: there was no probe */
	u64 instance;	/* the kernel's note of the next one that was overwritten */
	u64 salt;
	u64 hash;
	u32 first, count; /* mappings of the process */
	u32 depth;
	u32 to_skip; /* so many of the innermost frames are left out yet, */
	u32 skipped; /* of so many */
	u32 exact;   /* ip is that of an instruction, not a return address */
	u32 innermost;
	u32 outermost; /* it is known that ip has no caller */
	u32 rule;
	u32 end;       /* enum stack_end; 0: it goes on */
	u32 guessed;   /* so many callers were, */
	u32 is_guess;  /* ip among them */
	u32 puts_guess; /* what is noted next */
	u64 guesses[2]; /* by their places in the stack, a bit each */
	u32 scanned;   /* 1 + so many words while a caller is looked for, */
	u32 scan_end;  /* and why the walk ends if there is none */
	u32 unmapped;  /* it came to where no file is known to be mapped */
	u64 uncovered; /* code that nobody has looked into yet; 0: none was met */
	u64 page[ARCH_PAGE_BYTES / sizeof(u64)];
};

/* False: it has no mappings, or their places have been given away: what it maps is unknown until it is looked at again. Who takes them may search
 * them to its end: places are given away first, and filled anew when no program runs any more that did then. */
static __always_inline bool take_space(struct unwind_walk *walk, const struct unwind_space *space)
{
	const struct unwind_mapping *head;
	u32 first = space->first;

	walk->first = first + 1;
	walk->count = space->count;
	walk->salt = space->salt;
	head = bpf_map_lookup_elem(&unwind_mappings, &first);
	return walk->count && head && head->start == walk->salt && head->end == walk->count;
}

/* Of the memory of the task whose stack it is. Programs that may sleep (UNWIND_OTHERS) can read that of any, all others that of their own. */
static __always_inline long unwind_copy(struct task_struct *task, void *to, u32 size_bytes, u64 address)
{
#ifdef UNWIND_OTHERS
	return bpf_copy_from_user_task(to, size_bytes, (void *)address, task, 0);
#else
	return bpf_probe_read_user(to, size_bytes, (void *)address);
#endif
}

/* The number is not known to who compiles, nor to the verifier. */
#define OPAQUE(number) __asm__ volatile("" : "+r"(number))

/* Reads the word at an address of the stack into value. -1: it is not there. */
static __noinline int unwind_read(struct unwind_walk *walk, struct task_struct *task, u64 address)
{
	u64 page = address & ~(u64)(ARCH_PAGE_BYTES - 1), index = address % ARCH_PAGE_BYTES / 8;

	if (!walk)
		return -1;
	if (address % 8)
		return unwind_copy(task, &walk->value, sizeof(walk->value), address) ? -1 : 0;
	if (page != walk->page_at) {
		walk->page_at = PAGE_NONE;
		if (unwind_copy(task, walk->page, ARCH_PAGE_BYTES, page))
			return -1;
		walk->page_at = page;
	}
	OPAQUE(index);
	walk->value = walk->page[index & (ARCH_PAGE_BYTES / 8 - 1)];
	return 0;
}

/* The same where it mostly is in the page that was read: of processors whose returns are made safe against speculation a call takes as long as
 * all else that a frame needs. */
static __always_inline int unwind_read_near(struct unwind_walk *walk, struct task_struct *task, u64 address)
{
	u64 index = address - walk->page_at;

	if (index >= ARCH_PAGE_BYTES || index % 8)
		return unwind_read(walk, task, address);
	OPAQUE(index);
	walk->value = walk->page[index / 8 & (ARCH_PAGE_BYTES / 8 - 1)];
	return 0;
}

/* Where a goroutine was when it called C, which was done on the thread's first stack. Its own may have been moved since. */
static __always_inline int goroutine_cfa(struct unwind_walk *walk, struct task_struct *task, const struct unwind_rule *rule)
{
	if (unwind_read(walk, task, walk->sp + (s64)rule->cfa_offset))
		return -1;
	walk->cfa = (rule->rbp == UNWIND_AT_CFA ? 16 : 8) - walk->value;
	if (unwind_read(walk, task, walk->sp + rule->words * 8) ||
	    unwind_read(walk, task, walk->value + UNWIND_GOROUTINE_STACK_END))
		return -1;
	walk->cfa += walk->value;
	return 0;
}

enum call { CALL_NONE, CALL_DIRECT, CALL_THROUGH };

/* Which call is before this address? (call rel32; call *register or *memory in its lengths.) Where bytes could be either it is the one
 * through a pointer. Sets value. */
static __noinline int call_before(struct unwind_walk *walk, struct task_struct *task, u64 address)
{
	u64 code;

	if (!walk || !arch_is_code_address(address) ||
	    unwind_copy(task, &walk->value, sizeof(walk->value), address - 8))
		return CALL_NONE;
	/* Of the bytes before it the nearest one is the highest. */
	code = walk->value;
#define BYTE_BEFORE(distance) ((u8)(code >> (64 - 8 * (distance))))
#define IS_CALL_THROUGH(distance) \
	(BYTE_BEFORE(distance) == 0xff && (BYTE_BEFORE((distance)-1) >> 3 & 7) == 2)
	if (IS_CALL_THROUGH(2) || IS_CALL_THROUGH(3) || IS_CALL_THROUGH(4) || IS_CALL_THROUGH(6) ||
	    IS_CALL_THROUGH(7))
		return CALL_THROUGH;
	return BYTE_BEFORE(5) == 0xe8 ? CALL_DIRECT : CALL_NONE;
}

#endif
