/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entries that would be single-stepped: by a program of ours, where the kernel lets it do what the instruction does,
 * or behind the instruction that makes the function's frame.
 */
#include "plan/gpu_catalogue.h"
#include "plan/plan_parts.h"

#include <errno.h>

#include "code/module_code.h"
#include "../bpf/record.h"

static unsigned allowed_for(const struct plan_builder *builder,
			    const struct plan_function *function)
{
	const struct plan_limits *limits = builder->limits;
	bool single = limits->single_probes || builder->plan->modules[function->module].by_thread;
	unsigned allowed = 0;

	if (limits->can_emulate && !single)
		allowed |= PLACE_DISPLACED;
	/* A trampoline takes the return address from [sp]. */
	if (function->returns != VALUE_returns_session)
		allowed |= PLACE_STACK_MOVED;
	return allowed;
}

/* Two programs on one instruction run in no order that one could rely on. */
static bool is_exit(const struct plan_function *function, const struct function_place *place)
{
	for (size_t i = 0; i < function->site_count; i++)
		if (function->sites[i].file_offset == place->file_offset)
			return true;
	return false;
}

static void function_apply(const struct code_module *module, struct module_code *code,
			   struct plan_function *function, unsigned allowed)
{
	struct function_place place;

	if (function->long_nop)
		allowed |= PLACE_NO_LONG_NOP;
	if (module_code_place(code, function->address, allowed, &place))
		return;
	if (is_exit(function, &place) &&
	    (!(allowed & PLACE_DISPLACED) ||
	     !module_code_place_first(code, function->address, &place)))
		return;
	/* One that is stepped is no better than another that is. */
	if ((place.cost == COST_STEPPED && (!function->long_nop || place.long_nop)) ||
	    !plan_maps_offset(module, place.file_offset))
		return;
	function->file_offset = place.file_offset;
	function->bytes = place.bytes;
	function->first = place.first;
	function->placed_bytes = place.placed_bytes;
	function->cost = place.cost;
	function->long_nop = place.long_nop;
	function->displaced = place.displaced;
	function->lost_arguments = place.lost_arguments;
	function->stack_bytes = place.stack_bytes;
}

void plan_entries_apply(struct plan_builder *builder, size_t module)
{
	struct plan *plan = builder->plan;
	struct module_code *code = NULL;

	for (size_t i = 0; i < plan->function_count; i++) {
		struct plan_function *function = &plan->functions[i];
		unsigned allowed = allowed_for(builder, function);

		if (function->module != module || function->cost != COST_STEPPED || !allowed)
			continue;
		/* A file that can't be read leaves its functions as they are. */
		if (!code && plan_code_open_for_functions(builder, module, &code))
			return;
		function_apply(&plan->modules[module], code, function, allowed);
	}
}

enum kernel_long_nop plan_kernel_long_nop(struct plan_builder *builder)
{
	if (!builder->kernel_asked)
		builder->kernel_long_nop = kernel_long_nop_probe();
	builder->kernel_asked = true;
	return builder->kernel_long_nop;
}

static const char stepped_of_level[] = "a level probes it, and each of its calls would be "
				       "single-stepped: named by -F it is recorded";

static const char stepped_launch[] = "--launch-stacks probes it, and each of its calls would be "
				     "single-stepped";

/* NULL: nothing speaks against it. */
static const char *why_not(const struct plan_builder *builder, const struct plan_function *function)
{
	if (function->long_nop)
		return "it begins with a nop of five bytes, behind which it can't be "
		       "probed: " PLAN_LONG_NOP_KILLS;
	/* A busy process makes a hundred thousand such calls a second; but an account of memory without what is given back would be
	 * wrong. */
	if (builder->limits->returns == PLAN_RETURNS_AUTO && function->cost == COST_STEPPED &&
	    !function->counted && !function->allocator && plan_is_api(builder->plan, function))
		return stepped_of_level;
	if (function->launch_only && function->cost == COST_STEPPED)
		return stepped_launch;
	return NULL;
}

int plan_entries_drop(struct plan_builder *builder)
{
	struct plan *plan = builder->plan;
	size_t kept = 0;

	for (size_t i = 0; i < plan->function_count; i++) {
		struct plan_function *function = &plan->functions[i];
		const char *reason = why_not(builder, function);

		if (!reason) {
			plan->functions[kept++] = *function;
			continue;
		}
		if (function->launch_only && builder->limits->launch_quietly) {
			plan_function_free(function);
			continue;
		}
		plan->stepped_count += reason == stepped_of_level || reason == stepped_launch;
		if (plan_function_skip(builder, function, reason))
			return -ENOMEM;
	}
	plan->function_count = kept;
	return 0;
}

/* Where such a nop is no place, it is as one that would be stepped: others are looked for. */
static void judge_long_nop(struct plan_builder *builder, struct plan_function *function)
{
	if (function->long_nop)
		function->long_nop = plan_kernel_long_nop(builder) == KERNEL_LONG_NOP_KILLS;
	if (function->long_nop)
		function->cost = COST_STEPPED;
}

void plan_entries_first(struct plan_builder *builder)
{
	struct plan *plan = builder->plan;

	for (size_t i = 0; i < plan->function_count; i++) {
		struct plan_function *function = &plan->functions[i];
		struct module_code *code;

		judge_long_nop(builder, function);
		/* A file that can't be read leaves its functions as they are. */
		if (function->cost == COST_STEPPED &&
		    !plan_code_open_for_functions(builder, function->module, &code))
			function_apply(&plan->modules[function->module], code, function, 0);
	}
}
