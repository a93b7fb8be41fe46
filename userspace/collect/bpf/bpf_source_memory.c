/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The accounts of memory by functions that allocate it: what the BPF programs have to know for them. */
#include <errno.h>

#include "collect/bpf/bpf_source_parts.h"

int bpf_source_put_allocators(struct bpf_source *source, const struct plan *plan, struct err *err)
{
	int map_fd = bpf_map__fd(source->skeleton->maps.allocators);

	for (size_t i = 0; i < plan->function_count; i++) {
		const struct plan_function *function = &plan->functions[i];
		u32 probe = (u32)i + 1;

		if (function->allocator &&
		    bpf_map_update_elem(map_fd, &probe, function->allocator, BPF_ANY))
			return err_errno(err, -errno, "can't describe the arguments of %s",
					 function->name);
	}
	return 0;
}

int bpf_source_leave_memory_to_agent(struct bpf_source *source, u32 pid, struct err *err)
{
	u32 one = 1;

	if (bpf_map_update_elem(bpf_map__fd(source->skeleton->maps.accounted_by_agent), &pid, &one,
				BPF_ANY))
		return err_errno(err, -errno, "can't leave the memory of %u to its agent", pid);
	return 0;
}

void bpf_source_set_device_name(struct bpf_source *source, u32 name)
{
	__atomic_store_n(&source->skeleton->bss->device_name, name, __ATOMIC_SEQ_CST);
}
