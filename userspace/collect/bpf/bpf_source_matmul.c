/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sizes of products of matrices: what the BPF programs have to know for them. */
#include <errno.h>

#include "collect/bpf/bpf_source_parts.h"

int bpf_source_put_matmuls(struct bpf_source *source, const struct plan *plan, struct err *err)
{
	int map_fd = bpf_map__fd(source->skeleton->maps.matmuls);

	for (size_t i = 0; i < plan->function_count; i++) {
		const struct plan_function *function = &plan->functions[i];
		struct matmul_arguments arguments;
		u32 probe = (u32)i + 1;

		if (!plan_reads_sizes(function))
			continue;
		arguments = *function->matmul;
		arguments.on_stack = matmul_stack_arguments(&arguments);
		if (bpf_map_update_elem(map_fd, &probe, &arguments, BPF_ANY))
			return err_errno(err, -errno, "can't describe the arguments of %s",
					 function->name);
	}
	return 0;
}
