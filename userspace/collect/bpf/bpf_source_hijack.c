/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What has to be in place while return addresses of a target are overwritten. */
#include "collect/bpf/bpf_source_parts.h"

#include <errno.h>

#include "process/loader.h"

/* In the targets that map it, and what they fork where that is recorded too. */
static int attach_to_loader(struct bpf_source *source, const struct code_module *module, u64 offset,
			    const struct target *targets, struct err *err)
{
	u64 cookie = 0;
	struct uprobe_group group = {.kind = UPROBE_MULTI,
				     .program_fd =
					     bpf_program__fd(source->skeleton->progs.loader_hit),
				     .file_fd = module->fd,
				     .offsets = &offset,
				     .cookies = &cookie,
				     .count = 1};
	int result = 0;

	if (source->skeleton->rodata->follow_children)
		return uprobe_attach(&source->uprobes, &group, err);
	for (size_t t = 0; t < module->target_count && !result; t++) {
		const struct target *target = &targets[module->targets[t]];

		/* A filter by a process whose first thread has ended lets nothing through. */
		group.pid = target->first_thread_ended ? 0 : target->pid;
		result = uprobe_attach(&source->uprobes, &group, err);
		if (result && target_is_gone(target))
			result = 0;
	}
	return result;
}

/* Returns are hijacked while the target maps what the plan knows. Where the dynamic linker can't be watched, never.
 * Of children it must be known from their first moment on. */
static int watch_loader(struct bpf_source *source, const struct code_module *module,
			const struct target *targets, struct err *err)
{
	u64 offset = 0;
	int found = loader_find(module, &offset);

	if (found == -ENOENT)
		return 0;
	if (found) {
		source->skeleton->bss->code_mapped = CODE_MAPPED_BY_ANY;
		return 0;
	}
	return attach_to_loader(source, module, offset, targets, err);
}

int bpf_source_prepare_hijacking(struct bpf_source *source, const struct plan *plan,
				 const struct target *targets, struct err *err)
{
	int result = 0;

	for (size_t m = 0; m < plan->module_count && !result; m++)
		result = watch_loader(source, &plan->modules[m], targets, err);
	return result;
}

u32 bpf_source_changes(const struct bpf_source *source, u32 pid)
{
	u32 changes = 0;

	if (bpf_map__lookup_elem(source->skeleton->maps.changed_targets, &pid, sizeof(pid),
				 &changes, sizeof(changes), 0))
		return 0;
	return changes;
}

int bpf_source_judge(struct bpf_source *source, u32 pid, u32 changes)
{
	return bpf_map__update_elem(source->skeleton->maps.judged_targets, &pid, sizeof(pid),
				    &changes, sizeof(changes), 0);
}
