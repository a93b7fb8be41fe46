/*
 * What makes a return trampoline bearable for exceptions: before an unwinder walks the stack of a thread, and before a
 * fork copies it, all return addresses that lead to the trampoline are put back. The calls that are open then, the
 * outer ones that nothing unwinds too, are ended when the thread next shows that they are gone.
 *
 * A write from here fails on a page that is not there to be written (swapped out, shared since a fork): counted.
 * Loaded only for `--returns guarded`: not every kernel lets a program write to user memory.
 */
#include "returns.h"
#define PREEMPTION_FLAVOUR guard
#include "preemption.h"

struct kernel_clone_args {
	u64 flags;
} __attribute__((preserve_access_index));

#define CLONE_SHARES_MEMORY 0x100 /* CLONE_VM */

static long put_back(u32 index, struct return_walk *walk)
{
	u64 held, address;

	if (!returns_next(walk))
		return 1;
	address = walk->address;
	if (bpf_probe_read_user(&held, sizeof(held), (void *)walk->slot) ||
	    held != walk->trampoline || address == walk->trampoline)
		return 0;
	count_loss(bpf_probe_write_user((void *)walk->slot, &address, sizeof(address))
			   ? VALUE_loss_reason_guard_failed
			   : VALUE_loss_reason_guarded);
	return 0;
}

static __noinline int put_back_all(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct return_walk walk = {};

	if (!is_target(task->tgid) && !is_heir(task->tgid))
		return 0;
	returns_begin(&walk, task);
	bpf_loop(RETURNS_MAX, put_back, &walk, 0);
	return 0;
}

/* On the functions of unwinders that begin to unwind, and on the dynamic linker's that says that libraries were mapped:
 * an unwinder of their own would be guarded by nobody. */
SEC("uprobe.multi")
int unwind_begins(struct pt_regs *registers)
{
	preemption_off();
	put_back_all();
	preemption_on();
	return 0;
}

/* The child's memory is a copy, and in it nobody guards. */
SEC("fentry/kernel_clone")
int before_fork(u64 *context)
{
	struct kernel_clone_args *arguments = (void *)context[0];

	if (!(BPF_CORE_READ(arguments, flags) & CLONE_SHARES_MEMORY))
		put_back_all();
	return 0;
}
