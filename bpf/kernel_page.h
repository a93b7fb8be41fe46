/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel's probes make of a stack (unwind.h): return addresses that it has overwritten, and pages of code of its own, where a
 * thread is on its way back from a function ("[uprobes]") or, from 6.18 to 7.0, from a nop that the kernel made a call
 * ("[uprobes-trampoline]"). No frame of a stack is there: the thread counts as where it comes from.
 */
#ifndef GPUPROBE_BPF_KERNEL_PAGE_H
#define GPUPROBE_BPF_KERNEL_PAGE_H

#include "emit.h"
#include "arch_x86_64.h"
#include "unwind_walk.h"

/* ---- return addresses ---- */

#define INSTANCES_MAX 64

struct instance_search {
	struct unwind_walk *walk;
	u64 stack; /* where the address stood */
};

/* Inner frames come first. Of several probes of one function all but the last one have noted the address of the trampoline. */
static long next_instance(u32 index, struct instance_search *search)
{
	struct unwind_walk *walk = search->walk;
	const struct return_instance *instance = (void *)walk->instance;
	u64 place, address;

	if (!instance)
		return 1;
	place = BPF_CORE_READ(instance, stack);
	if (place > search->stack)
		return 1;
	address = BPF_CORE_READ(instance, orig_ret_vaddr);
	walk->instance = (u64)BPF_CORE_READ(instance, next);
	if (place != search->stack || address == walk->trampoline)
		return 0;
	walk->ip = address;
	walk->end = 0;
	return 1;
}

/* Puts the return address that the kernel has overwritten for a probe, there at `stack`, into ip. */
static __noinline int find_original(struct unwind_walk *walk, u64 stack)
{
	struct instance_search search = {walk, stack};

	if (!walk)
		return 0;
	walk->end = VALUE_stack_end_in_probe;
	bpf_loop(INSTANCES_MAX, next_instance, &search, 0);
	return 0;
}

/* ---- pages of the kernel's own ---- */

/* What such a page begins with, as two words: the one that functions return to (from 6.11; before, it has a breakpoint alone), and the one that
 * nops call. Each saves registers on the stack, makes a system call and takes them back:
 *
 *	push %rax; push %rcx; push %r11; mov $335,%rax; syscall; pop %r11; pop %rcx; ret
 *	push %rcx; push %r11; push %rax; mov $336,%rax; syscall; pop %rax; pop %r11; pop %rcx; ret
 */
enum { RETURN_PAGE, CALL_PAGE };

static const volatile u64 page_code[2][2] = {
	[RETURN_PAGE] = {0x4fc0c74853415150, 0x595b41050f000001},
	[CALL_PAGE] = {0x50c0c74850534151, 0x5b4158050f000001},
};

#define PAGE_CODE_BYTES	   18
#define PAGE_AFTER_SYSCALL 13

/* How many words above the stack pointer the caller's stack begins, at each instruction; 0 where there is none. By an array, since the
 * verifier would go each way of a comparison. */
static const volatile u8 words_above_sp[2][PAGE_CODE_BYTES] = {
	[RETURN_PAGE] = {0, 1, 2, 0, 3, 0, 0, 0, 0, 0, 0, 3, 0, 3, 0, 2, 1, 0},
	[CALL_PAGE] = {1, 2, 0, 3, 4, 0, 0, 0, 0, 0, 0, 4, 0, 4, 3, 0, 2, 1},
};

static __always_inline u64 words_above(u32 kind, u64 offset)
{
	OPAQUE(offset);
	return offset < PAGE_CODE_BYTES ? words_above_sp[kind][offset] : 0;
}

/* Other kernels may have other code there. -1: it can't be read, as that of other processes. */
static __always_inline int page_is(struct task_struct *task, u64 page, u32 kind)
{
	u64 code[2];

	if (unwind_copy(task, code, sizeof(code), page))
		return -1;
	return code[0] == page_code[kind][0] && code[1] == page_code[kind][1];
}

/* Is the last word below `sp` the address behind a call? Then the thread is at that call, with this stack. */
static __noinline int leave_to_call(struct unwind_walk *walk, struct task_struct *task, u64 sp)
{
	u64 address;

	if (!walk || unwind_read(walk, task, sp - 8))
		return -1;
	address = walk->value;
	if (call_before(walk, task, address) == CALL_NONE)
		return -1;
	walk->ip = address - 1;
	walk->sp = sp;
	walk->end = 0;
	return 0;
}

/* The note that the kernel has just dealt with, and keeps for the next call. */
static __always_inline void find_used(struct unwind_walk *walk, struct task_struct *task, u64 stack)
{
	const struct uprobe_task *probed = task->utask;
	const struct return_instance *used;
	u64 address;

	if (!bpf_core_field_exists(probed->ri_pool) || !probed)
		return;
	used = probed->ri_pool;
	if (!used || used->stack != stack)
		return;
	address = used->orig_ret_vaddr;
	if (address == walk->trampoline)
		return;
	walk->ip = address;
	walk->sp = stack + 8;
	walk->end = 0;
}

/* A function returns to the page. The kernel's note says from where it was called; once the system call has dealt with it the last word on
 * the stack says it, when it stands there. During that call the kernel may show the stack as it was before the words. */
static __noinline int leave_return_page(struct unwind_walk *walk, struct task_struct *task)
{
	u64 offset, words, sp;

	if (!walk)
		return 0;
	offset = walk->ip - walk->trampoline;
	words = words_above(RETURN_PAGE, offset);
	sp = walk->sp + words * 8;
	find_original(walk, walk->sp - 8);
	if (walk->end && words && page_is(task, walk->trampoline, RETURN_PAGE)) {
		find_original(walk, sp - 8);
		if (!walk->end)
			walk->sp = sp;
		else if (offset >= PAGE_AFTER_SYSCALL && !leave_to_call(walk, task, sp))
			return 0;
		else if (offset == PAGE_AFTER_SYSCALL)
			find_used(walk, task, sp - 8);
	}
	/* It counts as the call that is returned from. */
	walk->ip -= !walk->end;
	return 0;
}

/* A nop calls the page: its return address is below the words. */
static __noinline int leave_call_page(struct unwind_walk *walk, struct task_struct *task)
{
	u64 page, words;

	if (!walk)
		return 0;
	page = walk->ip & ~(u64)(ARCH_PAGE_BYTES - 1);
	words = words_above(CALL_PAGE, walk->ip - page);
	if (!words || page_is(task, page, CALL_PAGE) != 1)
		return 0;
	/* The kernel may show the stack as it was before the call. */
	if (leave_to_call(walk, task, walk->sp + words * 8) && leave_to_call(walk, task, walk->sp))
		walk->end = VALUE_stack_end_in_probe;
	return 0;
}

/* ---- as the system calls of these pages begin and end ---- */

/* There the kernel shows where the thread goes on already, but the stack below the words, which are the registers' still. */
static __always_inline bool is_next_word(struct unwind_walk *walk, struct task_struct *task, u32 index, u64 value)
{
	return !unwind_read(walk, task, walk->sp + index * 8) && walk->value == value;
}

/* The last note that was dealt with is of that address and stack, where the kernel keeps it. */
static __noinline int leave_return_call(struct unwind_walk *walk, struct task_struct *task)
{
	const struct pt_regs *registers = (void *)bpf_task_pt_regs(task);
	const struct uprobe_task *probed = task->utask;
	const struct return_instance *used;

	if (!walk || registers->orig_rax != ~0UL || !is_next_word(walk, task, 0, registers->r11) ||
	    !is_next_word(walk, task, 1, registers->rcx) || !is_next_word(walk, task, 2, registers->rax))
		return 0;
	if (bpf_core_field_exists(probed->ri_pool)) {
		used = probed ? probed->ri_pool : NULL;
		if (!used || used->stack != walk->sp + 16 || used->orig_ret_vaddr != walk->ip)
			return 0;
	} else if (call_before(walk, task, walk->ip) == CALL_NONE) {
		return 0;
	}
	walk->sp += 24;
	return 0;
}

#define NOP_BYTES 5

/* At the nop, whose end is what the call that it was made returns to. */
static __noinline int leave_nop_call(struct unwind_walk *walk, struct task_struct *task)
{
	const struct pt_regs *registers = (void *)bpf_task_pt_regs(task);

	if (walk && is_next_word(walk, task, 3, walk->ip + NOP_BYTES) && is_next_word(walk, task, 0, registers->rax) &&
	    is_next_word(walk, task, 1, registers->r11) && is_next_word(walk, task, 2, registers->rcx))
		walk->sp += 32;
	return 0;
}

#define INSTRUCTION_MAX_BYTES 15

/* An instruction that a probe stands on, and that is executed in the kernel's page, counts as there where it is from. */
static __always_inline void leave_copy(struct unwind_walk *walk, const struct uprobe_task *probed)
{
	u64 done = walk->ip - probed->xol_vaddr, from = probed->vaddr;

	/* Else the compiler makes one load of this one and that of ip below, which the verifier refuses. */
	OPAQUE(from);
	if (done <= INSTRUCTION_MAX_BYTES)
		walk->ip = from + done;
}

/* ---- breakpoints ---- */

#define BREAKPOINT	0xcc
#define CODE_ALIGNMENT	16

/*
 * A thread that has come to a probe is behind its breakpoint, inside of the instruction that this stands on, until the kernel has looked for
 * the probe: so are most samples on the way there, since it is then that interrupts are let in again. Where a function begins or ends
 * (the stack pointer is at the return address) another row of the table holds there, and behind its last byte another function's. Once the
 * kernel has emulated the instruction, which a return is not, ip may be the same: it has pushed something else then. Functions stand on
 * addresses that are aligned, which some compilers fill up with breakpoints.
 */
static __noinline int leave_breakpoint(struct unwind_walk *walk, struct task_struct *task)
{
	u8 code = 0;

	if (!walk || unwind_copy(task, &code, sizeof(code), walk->ip - 1) || code != BREAKPOINT ||
	    unwind_read(walk, task, walk->sp))
		return 0;
	if ((walk->trampoline && walk->value == walk->trampoline) ||
	    call_before(walk, task, walk->value) != CALL_NONE)
		walk->ip--;
	return 0;
}

/* Of the innermost frame; walk->end is set where nobody knows from where the page was come to. */
static __always_inline void leave_kernel_pages(struct unwind_walk *walk, struct task_struct *task, const struct uprobe_task *probed,
					       bool in_user)
{
	const struct pt_regs *registers = (void *)bpf_task_pt_regs(task);
	const struct mm_struct *mm = task->mm;

	if (walk->trampoline && walk->ip / ARCH_PAGE_BYTES == walk->trampoline / ARCH_PAGE_BYTES) {
		if (walk->ip - walk->trampoline < PAGE_CODE_BYTES)
			leave_return_page(walk, task);
		else if (probed)
			leave_copy(walk, probed);
		return;
	}
	/* In the kernel, and not by a system call. */
	if (!in_user && registers->orig_rax == ~0UL && walk->ip % CODE_ALIGNMENT)
		leave_breakpoint(walk, task);
	if (walk->trampoline)
		leave_return_call(walk, task);
	if (bpf_core_field_exists(mm->uprobes_state.head_tramps) && mm && mm->uprobes_state.head_tramps.first) {
		leave_nop_call(walk, task);
		leave_call_page(walk, task);
	}
}

#endif
