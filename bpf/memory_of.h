/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory of a thread, as far as the program may read it. */
#ifndef GPUPROBE_BPF_MEMORY_OF_H
#define GPUPROBE_BPF_MEMORY_OF_H

#include "types.h"

/* Programs that may sleep (UNWIND_OTHERS) can read the memory of any thread, all others that of their own. */
static __always_inline long memory_copy(struct task_struct *task, void *to, u32 size_bytes,
					u64 address)
{
#ifdef UNWIND_OTHERS
	return bpf_copy_from_user_task(to, size_bytes, (void *)address, task, 0);
#else
	return task == bpf_get_current_task_btf()
		       ? bpf_probe_read_user(to, size_bytes, (void *)address)
		       : -1;
#endif
}

#endif
