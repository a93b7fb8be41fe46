/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code objects of Python that end: from then on another one may lie where they did, so all that is known of a process's by where they lie
 * (python_code.h) was of another generation. At the entry of the interpreter's function that frees them, while they are whole yet. Two
 * programs, by how they are attached: by uprobe_multi, or one perf event.
 */
#include "python_maps.h"
#include "price.h"

static __always_inline void count_end(void)
{
	u32 pid = bpf_get_current_pid_tgid() >> 32;
	u64 begin_ns = price_begin(PRICE_PYTHON);
	struct python_process *process = bpf_map_lookup_elem(&python_processes, &pid);

	if (process && process->generation)
		__sync_fetch_and_add(&process->generation, 1);
	if (window_open)
		price_count(PRICE_PYTHON);
	price_end(PRICE_PYTHON, begin_ns);
}

SEC("uprobe.multi")
int python_code_ends(struct pt_regs *registers)
{
	count_end();
	return 0;
}

SEC("uprobe")
int python_code_ends_single(struct pt_regs *registers)
{
	count_end();
	return 0;
}
