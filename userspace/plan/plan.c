#include "plan/plan_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/modules.h"
#include "plan/plan_usdt.h"
#include "base/cleanup.h"
#include "../bpf/record.h"

const char *plan_module_root(const struct plan_builder *builder, const struct plan_module *module)
{
	const struct target *target = &builder->targets[module->targets[0]];

	return target->other_mount_namespace ? target->root_path : "";
}

int plan_code_open(struct plan_builder *builder, size_t module, struct module_code **ret_code,
		   struct err *err)
{
	const struct plan_module *file = &builder->plan->modules[module];
	int result = 0;

	if (!builder->codes[module])
		result = module_code_open(file->fd, file->path, plan_module_root(builder, file),
					  &builder->codes[module], err);
	*ret_code = builder->codes[module];
	return result;
}

void plan_code_close(struct plan_builder *builder, size_t module)
{
	builder->codes[module] = module_code_free(builder->codes[module]);
}

static int function_compare(const void *left, const void *right)
{
	const struct plan_function *a = left, *b = right;

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	if (a->file_offset != b->file_offset)
		return a->file_offset < b->file_offset ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

static void function_free(struct plan_function *function)
{
	free(function->name);
	free(function->mangled);
	free(function->detail);
	free(function->sites);
}

/* Segments may overlap in the file, so that two addresses are one place: it takes one probe. */
static void functions_sort(struct plan *plan)
{
	size_t kept = 0;

	if (!plan->function_count)
		return;
	qsort(plan->functions, plan->function_count, sizeof(*plan->functions), function_compare);
	for (size_t i = 0; i < plan->function_count; i++) {
		struct plan_function *function = &plan->functions[i];

		if (kept && plan->functions[kept - 1].module == function->module &&
		    plan->functions[kept - 1].file_offset == function->file_offset)
			function_free(function);
		else
			plan->functions[kept++] = *function;
	}
	plan->function_count = kept;
}

static int patterns_build(struct plan_builder *builder, char *const *patterns, struct err *err)
{
	bool includes = false;

	for (size_t i = 0; i < builder->pattern_count; i++) {
		int result = pattern_parse(patterns[i], &builder->patterns[i], err);

		if (result)
			return result;
		includes |= !builder->patterns[i].exclude;
	}
	if (!includes)
		return err_set(err, -EINVAL,
			       "the patterns only exclude functions. Add one that says what to "
			       "probe, such as "
			       "-F '*'");
	return 0;
}

static int functions_build(struct plan_builder *builder, char *const *patterns, struct err *err)
{
	int result;

	builder->patterns = calloc(builder->pattern_count, sizeof(*builder->patterns));
	builder->hits = calloc(builder->pattern_count, sizeof(*builder->hits));
	builder->codes = calloc(builder->plan->module_count + 1, sizeof(*builder->codes));
	if (!builder->patterns || !builder->hits || !builder->codes)
		return err_errno(err, -ENOMEM, "can't match functions");
	result = patterns_build(builder, patterns, err);
	if (!result)
		result = plan_match(builder, err);
	if (result)
		return result;
	functions_sort(builder->plan);
	if (builder->limits->heap)
		return plan_heap_apply(builder, err);
	result = plan_guards_apply(builder, err);
	if (!result)
		result = plan_policy_apply(builder, err);
	if (!result)
		result = plan_reach_apply(builder, err);
	if (!result)
		result = plan_exits_apply(builder, err);
	return result;
}

int plan_build(const struct target *targets, size_t target_count, char *const *patterns,
	       size_t pattern_count, const struct plan_limits *limits, struct plan **ret_plan,
	       struct err *err)
{
	struct plan_builder builder = {
		.plan = calloc(1, sizeof(struct plan)),
		.targets = targets,
		.target_count = target_count,
		.pattern_count = pattern_count,
		.limits = limits,
	};
	struct module_list modules = {0};
	int result;

	if (!builder.plan)
		return err_errno(err, -ENOMEM, "can't plan the probes");
	result = modules_load(targets, target_count, &modules, err);
	builder.plan->modules = modules.items;
	builder.plan->module_count = modules.count;
	if (!result && pattern_count)
		result = functions_build(&builder, patterns, err);
	for (size_t i = 0; builder.patterns && i < pattern_count; i++)
		pattern_free(&builder.patterns[i]);
	for (size_t i = 0; builder.codes && i < modules.count; i++)
		plan_code_close(&builder, i);
	free(builder.patterns);
	free(builder.hits);
	free(builder.codes);
	if (result)
		plan_free(builder.plan);
	else
		*ret_plan = builder.plan;
	return result;
}

struct plan *plan_free(struct plan *plan)
{
	struct module_list modules;

	if (!plan)
		return NULL;
	modules = (struct module_list){plan->modules, plan->module_count};
	modules_free(&modules);
	for (size_t i = 0; i < plan->function_count; i++)
		function_free(&plan->functions[i]);
	plan_usdt_free(plan);
	for (size_t i = 0; i < plan->skipped_count; i++)
		free(plan->skipped[i].name);
	free(plan->functions);
	free(plan->skipped);
	free(plan->guards);
	free(plan);
	return NULL;
}

bool plan_is_mapped_by(const struct plan_module *module, size_t target)
{
	for (size_t i = 0; i < module->target_count; i++)
		if (module->targets[i] == target)
			return true;
	return false;
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
		returns |= 1u << plan->functions[i].returns;
	return returns;
}

bool plan_hijacks_returns(const struct plan *plan)
{
	return plan_returns(plan) >> VALUE_returns_session & 1;
}
