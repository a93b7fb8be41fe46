/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes the probes of a file must reach besides those that can be named when they are put in. Links
 * of uprobe_multi that name a process do not see its children, nor a process whose first thread has ended. A
 * link that names none sees every process that maps the file, and the programs turn strangers away; but the
 * strangers would pay, so only files that none of them maps have such links. The others have links for each process:
 * for a child when it is forked, and for a process without its first thread single probes that name another one.
 */
#include "plan/plan_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "process/modules.h"
#include "base/cleanup.h"

static bool lacks_first_thread(const struct plan_builder *builder, const struct code_module *module)
{
	for (size_t i = 0; i < module->target_count; i++)
		if (builder->targets[module->targets[i]].first_thread_ended)
			return true;
	return false;
}

static void want_reach(const struct plan_builder *builder, size_t index, bool *wanted)
{
	const struct code_module *module = &builder->plan->modules[index];

	wanted[index] = !module->shared_with_others &&
			(builder->limits->children || lacks_first_thread(builder, module));
}

int plan_reach_apply(struct plan_builder *builder, struct err *err)
{
	struct plan *plan = builder->plan;
	struct module_list list = {plan->modules, plan->module_count};
	_cleanup_free_ bool *wanted = calloc(plan->module_count + 1, sizeof(*wanted));
	int result;

	if (!wanted)
		return err_errno(err, -ENOMEM, "can't plan the probes");
	if (builder->limits->single_probes)
		return 0;
	for (size_t i = 0; i < plan->function_count; i++)
		want_reach(builder, plan->functions[i].module, wanted);
	for (size_t i = 0; i < plan->usdt_count; i++)
		want_reach(builder, plan->usdt[i].module, wanted);
	result = modules_shared_with_others(&list, wanted, builder->targets, builder->target_count,
					    err);
	for (size_t i = 0; i < plan->module_count && !result; i++) {
		struct code_module *module = &plan->modules[i];

		module->reaches_all = wanted[i] && !module->shared_with_others;
		module->by_thread = !module->reaches_all && lacks_first_thread(builder, module);
	}
	return result;
}
