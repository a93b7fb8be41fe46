/*
 * What depends on the processor: where a function finds its return address and what the stack
 * pointer is at its return. arm64 has it in x30 and does not move sp.
 */
#ifndef GPUPROBE_BPF_ARCH_X86_64_H
#define GPUPROBE_BPF_ARCH_X86_64_H

/* At the first instruction sp points to the return address. */
static __always_inline u64 arch_entry_sp(const struct pt_regs *registers)
{
	return registers->rsp;
}

/* At the return the return address has been popped: the same call had entry sp == this value. */
static __always_inline u64 arch_entry_sp_at_return(const struct pt_regs *registers)
{
	return registers->rsp - 8;
}

/* The value that a hijacked return address holds; 0 when it cannot be known. */
static __always_inline u64 arch_trampoline(struct task_struct *task)
{
	struct xol_area *area = BPF_CORE_READ(task, mm, uprobes_state.xol_area);

	return area ? BPF_CORE_READ(area, vaddr) : 0;
}

static __always_inline u64 arch_thread_pointer(struct task_struct *task)
{
	return BPF_CORE_READ(task, thread.fsbase);
}

#endif
