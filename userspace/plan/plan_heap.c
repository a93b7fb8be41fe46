/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the returns of functions that allocate host memory are seen. Nobody throws or switches stacks through them, whatever the
 * process maps: so return addresses may be taken in all files, for each process by links that name it. What a child that is no
 * target calls is hijacked too then, and harmless, because it returns before anything else happens on its stack. operator new throws:
 * where it calls malloc its entry is enough.
 */
#include "plan/plan_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "code/code_exits.h"
#include "plan/heap_functions.h"
#include "base/cleanup.h"
#include "../bpf/record.h"

static const char *symbol_of(const struct plan_function *function)
{
	return function->mangled ? function->mangled : function->name;
}

static bool is_operator(const struct plan_function *function)
{
	return heap_function_is_operator(symbol_of(function));
}

/* Does the file have functions of C, that its operators may do without? */
static bool has_own(const struct plan *plan, size_t module)
{
	for (size_t i = 0; i < plan->function_count; i++)
		if (plan->functions[i].module == module && !is_operator(&plan->functions[i]))
			return true;
	return false;
}

/* operator delete that can but call free. */
static bool is_needless(const struct plan *plan, const struct plan_function *function)
{
	return is_operator(function) && !function->allocator->bytes &&
	       !has_own(plan, function->module);
}

static void remove_needless(struct plan *plan)
{
	size_t kept = 0;

	for (size_t i = 0; i < plan->function_count; i++)
		if (is_needless(plan, &plan->functions[i]))
			plan->functions[i].allocator = NULL;
	for (size_t i = 0; i < plan->function_count; i++) {
		struct plan_function *function = &plan->functions[i];

		if (function->allocator) {
			plan->functions[kept++] = *function;
			continue;
		}
		free(function->name);
		free(function->mangled);
		free(function->detail);
	}
	plan->function_count = kept;
}

/* Another function of the file may return at the same places. */
static void keep_new_sites(struct plan *plan, struct plan_function *function)
{
	size_t kept = 0;

	for (size_t s = 0; s < function->site_count; s++) {
		bool known = false;

		for (size_t i = 0; i < plan->function_count && !known; i++) {
			const struct plan_function *other = &plan->functions[i];

			if (other == function || other->module != function->module)
				continue;
			known = other->file_offset == function->sites[s].file_offset;
			for (size_t j = 0; j < other->site_count && !known; j++)
				known = other->sites[j].file_offset ==
					function->sites[s].file_offset;
		}
		if (!known)
			function->sites[kept++] = function->sites[s];
	}
	function->site_count = kept;
}

/* By all that can be found: a return that is none of them leaves a call unseen, and is counted. */
static int by_exits(struct plan_builder *builder, struct plan_function *function, bool emulate)
{
	struct module_code *code;
	bool complete;

	function->entry_only_reason = VALUE_entry_only_reason_exits_unknown;
	if (plan_code_open(builder, function->module, &code, NULL))
		return 0;
	if (code_exits_find(module_code_file(code), module_code_symbols(code), function->address,
			    &function->sites, &function->site_count, &complete))
		return -ENOMEM;
	if (!function->site_count)
		return 0;
	if (complete)
		function->entry_only_reason = 0;
	function->returns = emulate ? VALUE_returns_emulated : VALUE_returns_stepped;
	keep_new_sites(builder->plan, function);
	return 0;
}

static int function_apply(struct plan_builder *builder, struct plan_function *function,
			  bool emulate)
{
	const struct plan *plan = builder->plan;

	free(function->detail);
	function->detail = NULL;
	function->entry_only_reason = 0;
	function->returns = VALUE_returns_none;
	if (!function->allocator->bytes)
		return 0;
	if (function->allocator->place)
		return has_own(plan, function->module) ? by_exits(builder, function, emulate) : 0;
	if (!builder->limits->has_session)
		return by_exits(builder, function, emulate);
	function->returns = VALUE_returns_session;
	return 0;
}

int plan_heap_apply(struct plan_builder *builder, struct err *err)
{
	struct plan *plan = builder->plan;
	bool emulate = builder->limits->can_emulate && !plan_has_shadow_stack(builder);
	int result = 0;

	remove_needless(plan);
	for (size_t i = 0; i < plan->function_count && !result; i++)
		result = function_apply(builder, &plan->functions[i], emulate);
	if (result)
		return err_errno(err, result, "can't plan the probes of allocations");
	result = plan_reach_apply(builder, err);
	for (size_t i = 0; i < plan->module_count && !result; i++) {
		plan_entries_apply(builder, i);
		plan_code_close(builder, i);
	}
	return result;
}
