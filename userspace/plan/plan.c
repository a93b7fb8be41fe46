/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/plan_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "../bpf/record.h"

const char *plan_module_root(const struct plan_builder *builder, const struct code_module *module)
{
	const struct target *target = &builder->targets[module->targets[0]];

	return target->other_mount_namespace ? target->root_path : "";
}

int plan_code_open(struct plan_builder *builder, size_t module, struct module_code **ret_code,
		   struct err *err)
{
	const struct code_module *file = &builder->plan->modules[module];
	int result = 0;

	if (!builder->codes[module])
		result = module_code_open(file->fd, file->path, plan_module_root(builder, file),
					  &builder->codes[module], err);
	*ret_code = builder->codes[module];
	return result;
}

int plan_code_open_for_functions(struct plan_builder *builder, size_t module,
				 struct module_code **ret_code)
{
	const struct plan *plan = builder->plan;
	int result = plan_code_open(builder, module, ret_code, NULL);

	if (!result)
		module_code_use_cache(*ret_code, builder->code_cache_fd);
	for (size_t i = 0; i < plan->function_count && !result && !builder->expects[module]; i++)
		if (plan->functions[i].module == module)
			result = module_code_expect(*ret_code, plan->functions[i].address);
	builder->expects[module] = !result;
	return result;
}

void plan_code_close(struct plan_builder *builder, size_t module)
{
	builder->expects[module] = false;
	builder->codes[module] = module_code_free(builder->codes[module]);
}

void plan_function_free(struct plan_function *function)
{
	free(function->name);
	free(function->mangled);
	free(function->detail);
	free(function->sites);
}

int plan_function_skip(struct plan_builder *builder, struct plan_function *function,
		       const char *reason)
{
	struct plan *plan = builder->plan;

	if (array_reserve(&plan->skipped, &builder->skipped_capacity, plan->skipped_count + 1) < 0)
		return -ENOMEM;
	plan->skipped[plan->skipped_count++] = (struct plan_skipped){
		.module = function->module,
		.name = function->name,
		.address = function->address,
		.reason = reason,
	};
	function->name = NULL;
	plan_function_free(function);
	return 0;
}

bool plan_sees_results(const struct plan_function *function)
{
	for (size_t i = 0; i < function->site_count; i++)
		if (function->sites[i].kind != RETURN_SITE_RET)
			return false;
	return function->returns != VALUE_returns_none;
}

size_t plan_counted(const struct plan *plan)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->function_count; i++)
		count += plan->functions[i].counted;
	return count;
}

bool plan_is_told(const struct plan *plan, const struct plan_function *function)
{
	return !(function->launch_only && plan->launch_quietly);
}

size_t plan_told_count(const struct plan *plan)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->function_count; i++)
		count += plan_is_told(plan, &plan->functions[i]);
	return count;
}

bool plan_takes_launch_stacks(const struct plan *plan)
{
	for (size_t i = 0; i < plan->function_count; i++)
		if (plan->functions[i].launch)
			return true;
	return false;
}

bool plan_reads_sizes(const struct plan_function *function)
{
	return function->matmul && !function->counted &&
	       !(matmul_registers(function->matmul) & function->lost_arguments);
}

bool plan_has_matmuls(const struct plan *plan)
{
	for (size_t i = 0; i < plan->function_count; i++)
		if (plan_reads_sizes(&plan->functions[i]))
			return true;
	return false;
}

u32 plan_returns(const struct plan *plan)
{
	u32 returns = 0;

	for (size_t i = 0; i < plan->function_count; i++)
		if (!plan->functions[i].launch_only)
			returns |= 1u << plan->functions[i].returns;
	return returns;
}

bool plan_hijacks_returns(const struct plan *plan)
{
	return plan_returns(plan) >> VALUE_returns_session & 1;
}
