/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The driver of a plan: which part of it decides what, one after the other; and its end. */
#include "plan/plan_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "process/modules.h"
#include "base/cache_folder.h"
#include "base/cleanup.h"
#include "base/log.h"

static int function_compare(const void *left, const void *right)
{
	const struct plan_function *a = left, *b = right;

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	if (a->file_offset != b->file_offset)
		return a->file_offset < b->file_offset ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
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
			plan_function_free(function);
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

int plan_later_file_add(struct module_list *modules, const struct target *targets,
			const struct pattern *pattern, const char *words, struct err *err)
{
	int result;

	if (!pattern_is_path(pattern))
		return 0;
	for (size_t m = 0; m < modules->count; m++)
		if (pattern_matches_module(pattern, &modules->items[m], targets))
			return 0;
	result = modules_add_later(modules, targets, 0, pattern->binary);
	if (result == -ENOEXEC)
		return err_set(err, result, "pattern \"%s\": %s has no code", words,
			       pattern->binary);
	return result == -ENOMEM ? err_errno(err, result, "pattern \"%s\"", words) : 0;
}

static int later_files_add(struct plan_builder *builder, struct module_list *modules,
			   struct err *err)
{
	int result = 0;

	for (size_t p = 0; p < builder->pattern_count && builder->limits->children && !result; p++)
		result = plan_later_file_add(modules, builder->targets, &builder->patterns[p],
					     builder->patterns[p].text, err);
	for (size_t i = 0; i < builder->limits->later_file_count && !result; i++) {
		const struct plan_later_file *file = &builder->limits->later_files[i];

		/* One that is gone by now, or has no code, is none. */
		if (modules_add_later(modules, builder->targets, file->target, file->path) ==
		    -ENOMEM)
			result = err_errno(err, -ENOMEM, "can't plan the probes");
	}
	modules_sort(modules);
	return result;
}

/* How returns are seen, and where the probes go. */
static int functions_decide(struct plan_builder *builder, struct err *err)
{
	int result;

	if (builder->limits->heap)
		return plan_heap_apply(builder, err);
	result = plan_forwards_apply(builder, err);
	if (!result)
		result = plan_policy_apply(builder, err);
	log_phase("returns judged");
	if (!result)
		result = plan_reach_apply(builder, err);
	if (!result)
		result = plan_exits_apply(builder, err);
	log_phase("places of probes chosen");
	return result;
}

static int patterns_begin(struct plan_builder *builder, char *const *patterns,
			  struct module_list *modules, struct err *err)
{
	int result;

	builder->patterns = calloc(builder->pattern_count, sizeof(*builder->patterns));
	builder->hits = calloc(builder->pattern_count, sizeof(*builder->hits));
	if (!builder->patterns || !builder->hits)
		return err_errno(err, -ENOMEM, "can't match functions");
	result = patterns_build(builder, patterns, err);
	return result ? result : later_files_add(builder, modules, err);
}

static int functions_build(struct plan_builder *builder, struct err *err)
{
	int result;

	builder->codes = calloc(builder->plan->module_count + 1, sizeof(*builder->codes));
	builder->expects = calloc(builder->plan->module_count + 1, sizeof(*builder->expects));
	if (!builder->codes || !builder->expects)
		return err_errno(err, -ENOMEM, "can't match functions");
	result = plan_match(builder, err);
	log_phase("functions matched");
	if (result)
		return result;
	functions_sort(builder->plan);
	plan_entries_first(builder);
	log_phase("entries placed");
	result = functions_decide(builder, err);
	if (!result && plan_entries_drop(builder))
		result = err_errno(err, -ENOMEM, "can't plan the probes");
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
		.code_cache_fd = -1,
	};
	struct module_list modules = {0};
	int result;

	if (!builder.plan)
		return err_errno(err, -ENOMEM, "can't plan the probes");
	/* Without one it takes longer. */
	if (limits->code_cache && pattern_count)
		(void)cache_folder_open(limits->code_cache, &builder.code_cache_fd);
	result = modules_load(targets, target_count, &modules, err);
	if (!result && pattern_count)
		result = patterns_begin(&builder, patterns, &modules, err);
	builder.plan->launch_quietly = limits->launch_quietly;
	builder.plan->modules = modules.items;
	builder.plan->module_count = modules.count;
	if (!result && pattern_count)
		result = plan_objects_begin(&builder, err);
	if (!result && pattern_count)
		result = functions_build(&builder, err);
	plan_objects_keep(builder.plan);
	for (size_t i = 0; builder.patterns && i < pattern_count; i++)
		pattern_free(&builder.patterns[i]);
	for (size_t i = 0; builder.codes && builder.expects && i < modules.count; i++)
		plan_code_close(&builder, i);
	free(builder.patterns);
	free(builder.hits);
	free(builder.codes);
	free(builder.expects);
	cleanup_close(&builder.code_cache_fd);
	if (result)
		plan_free(builder.plan);
	else
		*ret_plan = builder.plan;
	return result;
}

static void usdt_free(struct plan *plan)
{
	for (size_t i = 0; i < plan->usdt_count; i++) {
		free(plan->usdt[i].provider);
		free(plan->usdt[i].name);
		free(plan->usdt[i].sites);
	}
	free(plan->usdt);
}

struct plan *plan_free(struct plan *plan)
{
	struct module_list modules;

	if (!plan)
		return NULL;
	modules = (struct module_list){plan->modules, plan->module_count};
	modules_free(&modules);
	for (size_t i = 0; i < plan->function_count; i++)
		plan_function_free(&plan->functions[i]);
	usdt_free(plan);
	for (size_t i = 0; i < plan->skipped_count; i++)
		free(plan->skipped[i].name);
	plan_objects_free(plan);
	free(plan->functions);
	free(plan->skipped);
	free(plan);
	return NULL;
}
