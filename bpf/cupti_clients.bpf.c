/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that a process makes of its libcupti (gpu/cupti/cupti_watched.def), told to userspace at once. Whose call it is, the
 * agent's or that of another user of CUPTI, the return address tells, which userspace looks at. Two programs, by how
 * they are attached: by uprobe_multi, or one perf event a function.
 */
#include "maps.h"
#include "types.h"
#include "arch_x86_64.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, CUPTI_CALLS_RING_BYTES);
} cupti_calls SEC(".maps");

static __always_inline void tell(struct pt_regs *registers)
{
	struct cupti_call_event event = {
		.pid = bpf_get_current_pid_tgid() >> 32,
		.function = bpf_get_attach_cookie(registers),
		.arguments = {arch_argument(registers, 1), arch_argument(registers, 2)},
		.ts = bpf_ktime_get_ns(),
	};

	/* Of what can't be read nobody knows who calls: then it is not the agent. */
	bpf_probe_read_user(&event.caller, sizeof(event.caller), (void *)arch_entry_sp(registers));
	bpf_ringbuf_output(&cupti_calls, &event, sizeof(event), BPF_RB_FORCE_WAKEUP);
}

SEC("uprobe.multi")
int cupti_called(struct pt_regs *registers)
{
	tell(registers);
	return 0;
}

SEC("uprobe")
int cupti_called_single(struct pt_regs *registers)
{
	tell(registers);
	return 0;
}
