/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the returns of each function are seen. A return probe overwrites the return address on the
 * target's stack, and there are many ways in which that kills it (docs/uprobes.md). So
 * a function's duration is taken only when nothing speaks against it, and in doubt its entries
 * only.
 */
#include "plan/plan_parts.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "process/modules.h"
#include "process/proc_file.h"
#include "base/cleanup.h"
#include "base/types.h"
#include "../bpf/record.h"

struct row {
	const char *glob;
	const char *why;
};

static const struct row return_address_functions[] = {
#define RETURN_ADDRESS_FUNCTION(glob, why) {glob, why},
#include "plan/return_address_functions.def"
#undef RETURN_ADDRESS_FUNCTION
};

static const struct row callback_functions[] = {
#define CALLBACK_FUNCTION(glob, why) {glob, why},
#include "plan/callback_functions.def"
#undef CALLBACK_FUNCTION
};

static const struct row quiet_functions[] = {
#define QUIET_FUNCTION(glob, why) {glob, why},
#include "plan/quiet_functions.def"
#undef QUIET_FUNCTION
};

static const struct row harmless_unwinders[] = {
#define HARMLESS_UNWINDER(glob, why) {glob, why},
#include "plan/harmless_unwinders.def"
#undef HARMLESS_UNWINDER
};

static const struct row stack_switchers[] = {
#define STACK_SWITCHER(glob, why) {glob, why},
#include "plan/stack_switchers.def"
#undef STACK_SWITCHER
};

static const struct row *row_find(const struct row *rows, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (fnmatch(rows[i].glob, name, 0) == 0)
			return &rows[i];
	}
	return NULL;
}

/* A file is known by any of its names: "libstdc++.so.6" is the soname of libstdc++.so.6.0.30. */
static const struct row *row_find_module(const struct row *rows, size_t count,
					 const struct code_module *module)
{
	const struct row *row = NULL;

	for (size_t i = 0; i < module->name_count && !row; i++)
		row = row_find(rows, count, module->names[i]);
	return row;
}

u8 plan_policy_by_name(const char *mangled, const char **ret_why)
{
	const struct row *row =
		row_find(return_address_functions, ARRAY_SIZE(return_address_functions), mangled);
	u8 reason = VALUE_entry_only_reason_return_address;

	if (!row) {
		row = row_find(callback_functions, ARRAY_SIZE(callback_functions), mangled);
		reason = VALUE_entry_only_reason_callback;
	}
	if (!row)
		return 0;
	*ret_why = row->why;
	return reason;
}

/* ---- what is known of a file
 * ------------------------------------------------------------------------ */

enum answer { UNKNOWN, NO, YES };

struct file_facts {
	enum answer personality, go, switches_stacks;
};

/* Why no function of a module has durations; reason 0: nothing speaks against it. */
struct verdict {
	bool known;
	u8 reason;
	char *detail;
	bool quiet_safe; /* nothing speaks against it for a function of quiet_functions.def */
};

struct policy {
	const struct plan_builder *builder;
	struct file_facts *facts; /* of each module */
	struct verdict *verdicts; /* of each module, for those with functions */
	bool *wanted;		  /* modules that would have durations but for sharing */
};

/* With these a program makes stacks of its own. Where it carves them out of the home stack's mapping (an array
 * in main), a call on one of them looks like any other. Libraries (libcrypto) allocate theirs. */
static const char *const switching_functions[] = {"makecontext", "swapcontext"};

static void facts_read(struct policy *policy, size_t module)
{
	const struct code_module *file = &policy->builder->plan->modules[module];
	struct file_facts *facts = &policy->facts[module];
	struct elf_file *elf;

	if (facts->personality != UNKNOWN)
		return;
	/* What can't be read can do anything. */
	*facts = (struct file_facts){.personality = YES, .go = NO, .switches_stacks = YES};
	if (elf_file_open(file->fd, file->path, &elf, NULL))
		return;
	facts->personality = elf_file_has_personality(elf) ? YES : NO;
	facts->go = elf_file_is_go(elf) ? YES : NO;
	facts->switches_stacks =
		elf_file_uses(elf, switching_functions, ARRAY_SIZE(switching_functions)) ? YES : NO;
	elf_file_free(elf);
}

/* Can an exception that passes through its frames harm? */
static bool has_personality(struct policy *policy, size_t module)
{
	facts_read(policy, module);
	return policy->facts[module].personality == YES;
}

static int verdict_set(struct verdict *verdict, u8 reason, const char *detail, const char *why)
{
	verdict->reason = reason;
	if (asprintf(&verdict->detail, why ? "%s: %s" : "%s", detail, why) < 0) {
		verdict->detail = NULL;
		return -ENOMEM;
	}
	return 0;
}

/* Does this target switch stacks in place? */
static int switches_judge(struct policy *policy, size_t target, struct verdict *verdict)
{
	const struct plan *plan = policy->builder->plan;

	for (size_t i = 0; i < plan->module_count; i++) {
		const struct code_module *other = &plan->modules[i];
		const struct row *row;

		if (!module_is_mapped_by(other, target))
			continue;
		row = row_find_module(stack_switchers, ARRAY_SIZE(stack_switchers), other);
		facts_read(policy, i);
		if (!row && other->main_executable && policy->facts[i].switches_stacks == YES)
			return verdict_set(verdict, VALUE_entry_only_reason_stack_switch,
					   other->path, "it uses makecontext or swapcontext");
		if (row)
			return verdict_set(verdict, VALUE_entry_only_reason_stack_switch,
					   other->path, row->why);
	}
	return 0;
}

/* Does anything else that this target maps speak against durations in `module`? */
static int target_judge(struct policy *policy, size_t module, size_t target,
			struct verdict *verdict)
{
	const struct plan *plan = policy->builder->plan;

	for (size_t i = 0; i < plan->module_count; i++) {
		const struct code_module *other = &plan->modules[i];

		if (i != module && other->main_executable && module_is_mapped_by(other, target) &&
		    has_personality(policy, i))
			return verdict_set(verdict, VALUE_entry_only_reason_exceptions, other->path,
					   NULL);
	}
	for (size_t i = 0; i < plan->module_count; i++) {
		const struct code_module *other = &plan->modules[i];

		if (i != module && module_is_mapped_by(other, target) &&
		    !row_find_module(harmless_unwinders, ARRAY_SIZE(harmless_unwinders), other) &&
		    has_personality(policy, i))
			return verdict_set(verdict, VALUE_entry_only_reason_foreign_code,
					   other->path, NULL);
	}
	return switches_judge(policy, target, verdict);
}

/* For functions that no exception can pass, whatever the targets of the module map. */
static int quiet_judge(struct policy *policy, size_t index)
{
	const struct code_module *module = &policy->builder->plan->modules[index];
	struct verdict verdict = {0};
	int result = 0;

	for (size_t i = 0; i < module->target_count && !verdict.reason && !result; i++)
		result = switches_judge(policy, module->targets[i], &verdict);
	free(verdict.detail);
	policy->verdicts[index].quiet_safe = !verdict.reason;
	return result;
}

/* All but sharing, which is asked once for all modules together. */
static int module_judge(struct policy *policy, size_t index)
{
	const struct code_module *module = &policy->builder->plan->modules[index];
	struct verdict *verdict = &policy->verdicts[index];
	int result = 0;

	if (verdict->known)
		return 0;
	verdict->known = true;
	facts_read(policy, index);
	if (policy->facts[index].go == YES)
		return verdict_set(verdict, VALUE_entry_only_reason_stack_switch, module->path,
				   "Go moves its stacks");
	if (has_personality(policy, index))
		return verdict_set(verdict, VALUE_entry_only_reason_exceptions, module->path, NULL);
	result = quiet_judge(policy, index);
	for (size_t i = 0; i < module->target_count && !verdict->reason && !result; i++)
		result = target_judge(policy, index, module->targets[i], verdict);
	return result;
}

static int sharing_judge(struct policy *policy, struct err *err)
{
	const struct plan_builder *builder = policy->builder;
	struct plan *plan = builder->plan;
	struct module_list list = {plan->modules, plan->module_count};
	int result = modules_shared_with_others(&list, policy->wanted, builder->targets,
						builder->target_count, err);

	for (size_t i = 0; i < plan->module_count && !result; i++) {
		char detail[64], comm[16];

		if (!policy->wanted[i] || !plan->modules[i].shared_with_others)
			continue;
		policy->verdicts[i].quiet_safe = false;
		if (policy->verdicts[i].reason)
			continue;
		proc_comm(plan->modules[i].shared_with_pid, comm);
		snprintf(detail, sizeof(detail), "%u %s", plan->modules[i].shared_with_pid, comm);
		if (verdict_set(&policy->verdicts[i], VALUE_entry_only_reason_shared_file, detail,
				NULL))
			return err_errno(err, -ENOMEM, "can't plan the probes");
	}
	return result;
}

/* ---- functions
 * -------------------------------------------------------------------------------------- */

static int function_set(struct plan_function *function, u8 reason, const char *detail)
{
	char *copy = detail ? strdup(detail) : NULL;

	if (detail && !copy)
		return -ENOMEM;
	free(function->detail);
	function->detail = copy;
	function->entry_only_reason = reason;
	return 0;
}

static bool is_quiet(const struct plan_function *function)
{
	return row_find(quiet_functions, ARRAY_SIZE(quiet_functions),
			function->mangled ? function->mangled : function->name);
}

static int function_judge(const struct policy *policy, struct plan_function *function)
{
	const struct verdict *verdict = &policy->verdicts[function->module];
	int result = 0;

	/* Go comes before what a single function's name says, everything else after it. */
	if (policy->facts[function->module].go == YES || !function->entry_only_reason)
		result = function_set(function, verdict->reason, verdict->detail);
	function->returns =
		function->entry_only_reason ? VALUE_returns_none : VALUE_returns_session;
	function->session_safe = function->returns == VALUE_returns_session ||
				 (verdict->quiet_safe && is_quiet(function));
	return result;
}

/* It has no returns, whatever speaks for or against them. */
static int set_launch_only(struct plan_function *function)
{
	function->returns = VALUE_returns_none;
	return function_set(function, VALUE_entry_only_reason_launch_stack, NULL);
}

/* Reasons that hold for every function alike. */
static u8 common_reason(const struct plan_limits *limits)
{
	if (limits->returns == PLAN_RETURNS_NONE)
		return VALUE_entry_only_reason_asked;
	if (limits->single_probes)
		return VALUE_entry_only_reason_single_probes;
	return limits->has_session ? 0 : VALUE_entry_only_reason_kernel;
}

static int functions_judge(struct policy *policy, struct err *err)
{
	struct plan *plan = policy->builder->plan;
	int result = 0;

	for (size_t i = 0; i < plan->function_count && !result; i++) {
		const struct plan_function *function = &plan->functions[i];
		const struct verdict *verdict = &policy->verdicts[function->module];

		if (function->launch_only)
			continue;
		result = module_judge(policy, function->module);
		if ((!verdict->reason && !function->entry_only_reason) ||
		    (verdict->quiet_safe && is_quiet(function)))
			policy->wanted[function->module] = true;
	}
	if (result)
		return err_errno(err, result, "can't plan the probes");
	result = sharing_judge(policy, err);
	for (size_t i = 0; i < plan->function_count && !result; i++) {
		result = plan->functions[i].launch_only
				 ? set_launch_only(&plan->functions[i])
				 : function_judge(policy, &plan->functions[i]);
		if (result)
			err_errno(err, result, "can't plan the probes");
	}
	return result;
}

static void set_all(struct plan *plan, u8 returns, u8 reason)
{
	for (size_t i = 0; i < plan->function_count; i++) {
		struct plan_function *function = &plan->functions[i];

		if (function->launch_only) {
			(void)set_launch_only(function);
			continue;
		}
		function->returns = returns;
		(void)function_set(function, reason, NULL);
	}
}

int plan_policy_apply(struct plan_builder *builder, struct err *err)
{
	struct plan *plan = builder->plan;
	u8 reason = common_reason(builder->limits);
	_cleanup_free_ struct file_facts *facts = calloc(plan->module_count + 1, sizeof(*facts));
	_cleanup_free_ struct verdict *verdicts = calloc(plan->module_count + 1, sizeof(*verdicts));
	_cleanup_free_ bool *wanted = calloc(plan->module_count + 1, sizeof(*wanted));
	struct policy policy = {builder, facts, verdicts, wanted};
	int result;

	if (!facts || !verdicts || !wanted)
		return err_errno(err, -ENOMEM, "can't plan the probes");
	if (builder->limits->returns == PLAN_RETURNS_TRAMPOLINE) {
		set_all(plan, VALUE_returns_session, 0);
		return 0;
	}
	if (reason) {
		set_all(plan, VALUE_returns_none, reason);
		return 0;
	}
	result = functions_judge(&policy, err);
	for (size_t i = 0; i < plan->module_count; i++)
		free(verdicts[i].detail);
	return result;
}

/* ---- what was mapped since ---- */

enum { FACT_PERSONALITY = 1, FACT_SWITCHES_STACKS = 2, FACT_GO = 4 };

/* By what a file is the same one, though its number may have become another's. */
static void file_key(const struct code_module *module, u64 ret_key[2])
{
	struct stat status;

	ret_key[0] = module->numbers.inode;
	ret_key[1] = module->numbers.device;
	if (fstat(module->fd, &status) == 0)
		ret_key[1] ^=
			((u64)status.st_ctim.tv_sec << 32) ^ ((u64)status.st_ctim.tv_nsec << 16);
}

static int facts_recall(struct policy *policy, size_t module, struct map *known)
{
	struct file_facts *facts = &policy->facts[module];
	const u64 *found;
	u64 key[2], bits;

	file_key(&policy->builder->plan->modules[module], key);
	found = map_find(known, key[0], key[1]);
	if (found) {
		*facts = (struct file_facts){.personality = *found & FACT_PERSONALITY ? YES : NO,
					     .switches_stacks =
						     *found & FACT_SWITCHES_STACKS ? YES : NO,
					     .go = *found & FACT_GO ? YES : NO};
		return 0;
	}
	facts_read(policy, module);
	bits = (facts->personality == YES ? FACT_PERSONALITY : 0) |
	       (facts->switches_stacks == YES ? FACT_SWITCHES_STACKS : 0) |
	       (facts->go == YES ? FACT_GO : 0);
	return map_set(known, key[0], key[1], bits);
}

int plan_judge_again(const struct target *target, struct map *known, bool *ret_harmless,
		     struct err *err)
{
	static const struct plan_limits limits = {.returns = PLAN_RETURNS_AUTO};
	_cleanup_free_ struct file_facts *facts = NULL;
	struct module_list list = {0};
	struct verdict verdict = {0};
	int result = modules_load(target, 1, &list, err);

	if (result)
		return result;
	struct plan plan = {.modules = list.items, .module_count = list.count};
	struct plan_builder builder = {.plan = &plan, .limits = &limits};
	struct policy policy = {.builder = &builder};

	policy.facts = facts = calloc(list.count + 1, sizeof(*facts));
	if (!facts)
		result = -ENOMEM;
	for (size_t i = 0; i < list.count && !result; i++)
		result = facts_recall(&policy, i, known);
	/* As for a file that is none of them. */
	if (!result)
		result = target_judge(&policy, SIZE_MAX, 0, &verdict);
	for (size_t i = 0; i < list.count && !result; i++)
		if (facts[i].go == YES)
			verdict.reason = VALUE_entry_only_reason_stack_switch;
	free(verdict.detail);
	modules_free(&list);
	if (result)
		return err_errno(err, result, "can't judge what %u maps", target->pid);
	*ret_harmless = verdict.reason == 0;
	return 0;
}
