/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/bpf/entry_sites.h"

#include <bpf/bpf.h>
#include <errno.h>

#include "../bpf/shared.h"

bool entry_site_is_needed(const struct plan_function *function)
{
	return function->displaced.operation || function->stack_bytes;
}

int entry_sites_put(int map_fd, const struct plan *plan, size_t first, struct err *err)
{
	for (size_t i = 0; i < plan->function_count; i++) {
		const struct plan_function *function = &plan->functions[i];
		struct entry_site site = {function->displaced, function->stack_bytes};
		u32 probe = (u32)(first + i) + 1;

		if (entry_site_is_needed(function) &&
		    bpf_map_update_elem(map_fd, &probe, &site, BPF_ANY))
			return err_errno(err, -errno, "can't describe the probe of %s",
					 function->name);
	}
	return 0;
}
