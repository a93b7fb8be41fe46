/* SPDX-License-Identifier: GPL-2.0-or-later */
/* May a thread be borrowed where it waits, or runs: what its stack says, by inject_frames.def. */
#ifndef GPUPROBE_INJECT_INJECT_STACK_H
#define GPUPROBE_INJECT_INJECT_STACK_H

#include "process/modules.h"
#include "elf/elf_frame.h"

/* From best to worst. */
enum inject_verdict {
	INJECT_VERDICT_SAFE,
	INJECT_VERDICT_SECOND, /* safe, but others first */
	INJECT_VERDICT_UNKNOWN, /* its stack cannot be followed to the thread's first function */
	INJECT_VERDICT_UNSAFE,
};

struct inject_stacks;

/* Prepares for all threads of a process: reads the symbols of its C library and of its program. modules: of this
 * process alone; they are taken over, also on failure. vdso_start: 0: it has none. */
int inject_stacks_open(struct module_list *modules, u64 vdso_start, u64 vdso_end,
		       struct inject_stacks **ret_stacks);
struct inject_stacks *inject_stacks_free(struct inject_stacks *stacks);

/* ret_reason: what was found, for people. frame: the registers, as far as they are known. */
enum inject_verdict inject_stack_judge(struct inject_stacks *stacks, int memory_fd, const struct elf_frame *frame,
				       char *ret_reason, size_t reason_bytes);

/* Of one that was stopped in the middle of code: SAFE, UNKNOWN or UNSAFE. Code of which inject_stacks_prepare_code() knows nothing is
 * UNSAFE. behind_call: it stands behind a system call that it made in the C library, whose innermost frames are then not looked at. */
enum inject_verdict inject_stack_judge_code(struct inject_stacks *stacks, int memory_fd, const struct elf_frame *frame,
					    bool behind_call, char *ret_reason, size_t reason_bytes);
/* Where the innermost function that it may be taken in goes on, of those on its stack, when what it called comes back. -ENOENT: in none of them. */
int inject_stack_comes_back(struct inject_stacks *stacks, int memory_fd, const struct elf_frame *frame, u64 *ret_address);
/* Opens all files, so that a thread need not be stopped for it. NULL, or why no thread of the process can be taken in the middle of code. */
const char *inject_stacks_prepare_code(struct inject_stacks *stacks);

/* Of one that waits for a lock in pthread_create, which it was made to call by code at `caller`, size_bytes: may it have another one? Also where
 * its stack can't be followed up to there. */
bool inject_stack_holds_lock(struct inject_stacks *stacks, int memory_fd, const struct elf_frame *frame, u64 caller,
			     size_t size_bytes);

struct inject_own_stack {
	bool own;
	u64 start; /* the lowest address, if own; 0: it grows down to where something is */
};

/* Is the thread on the stack that it was made with, not on one of a fiber or a goroutine, whose end something else
 * may begin at? -ESRCH: the process has ended. */
int inject_stack_is_own(int proc_fd, u64 stack_pointer, u64 thread_pointer, struct inject_own_stack *ret_stack);

#endif
