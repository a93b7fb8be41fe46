/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What calibration measures besides the programs that record, on functions of our own: taking a stack, and nothing at all. */
#include "stacks.h"
#define PREEMPTION_FLAVOUR calibration
#include "preemption.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack_scratch);
} calibration_scratch SEC(".maps");

static __noinline int take_stack(struct pt_regs *registers)
{
	u32 zero = 0;
	struct stack_scratch *scratch = bpf_map_lookup_elem(&calibration_scratch, &zero);

	if (scratch)
		stack_take(registers, scratch, bpf_get_current_pid_tgid());
	return 0;
}

SEC("uprobe.multi")
int calibrate_stack(struct pt_regs *registers)
{
	preemption_off();
	take_stack(registers);
	preemption_on();
	return 0;
}

SEC("uprobe.multi")
int calibrate_trap(struct pt_regs *registers)
{
	return 0;
}

/* Its return is taken too. */
SEC("uprobe.multi")
int calibrate_trap_session(struct pt_regs *registers)
{
	return 0;
}
