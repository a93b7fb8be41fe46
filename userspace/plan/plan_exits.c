/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions whose returns can't be taken by a trampoline without danger: their exits are probed
 * instead, if all of them are known. Nothing is written to the target's stack then, so nothing that
 * the target does with it matters.
 */
#include "plan/plan_parts.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "process/proc_file.h"
#include "base/cleanup.h"
#include "base/thread.h"
#include "../bpf/record.h"
#include "../gpu/api_calls.h"

/* On a shadow stack an exit that a program emulates leaves an entry behind, and the next real
 * return faults. */
bool plan_has_shadow_stack(const struct plan_builder *builder)
{
	for (size_t i = 0; i < builder->target_count; i++) {
		_cleanup_free_ char *status = NULL;

		if (proc_file_read(builder->targets[i].proc_fd, "status", &status, NULL))
			continue;
		if (proc_status_has_shadow_stack(status))
			return true;
	}
	return false;
}

/* Is it one that exits would help? */
static bool is_candidate(const struct plan_limits *limits, const struct plan_function *function,
			 bool emulate)
{
	/* It begins with another sp than it is left with. */
	if (plan_is_cold_part(function->mangled ? function->mangled : function->name))
		return false;
	switch (limits->returns) {
	case PLAN_RETURNS_NONE:
	case PLAN_RETURNS_TRAMPOLINE:
		return false;
	case PLAN_RETURNS_STEPPED:
	case PLAN_RETURNS_EMULATED:
		return true;
	case PLAN_RETURNS_AUTO:
		return emulate || function->returns == VALUE_returns_none;
	case PLAN_RETURNS_CHEAP:
		return emulate;
	}
	return false;
}

/* As gpu/api_calls.def has them. */
static bool launches(const char *name)
{
	static const struct {
		enum api_group group;
		const char *beginning;
	} calls[] = {
#define API(group, domain, beginning) {API_GROUP_##group, beginning},
#include "../gpu/api_calls.def"
	};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].group == API_GROUP_LAUNCH &&
		    !strncmp(name, calls[i].beginning, strlen(calls[i].beginning)))
			return true;
	return false;
}

/*
 * Nobody named it, and the end of each call would be single-stepped (5.9 of 7.6 us of a cublasGemmEx on the H100's host); of
 * launches, the most frequent calls of all, the end tells next to nothing, however it is seen.
 */
static bool is_dear(const struct plan_limits *limits, const struct plan_function *function)
{
	return limits->returns == PLAN_RETURNS_AUTO && function->by_level && !function->counted &&
	       !function->allocator &&
	       (function->returns == VALUE_returns_none || launches(function->name));
}

static void leave_end_out(struct plan_function *function)
{
	free(function->detail);
	function->detail = NULL;
	function->returns = VALUE_returns_none;
	function->entry_only_reason = VALUE_entry_only_reason_dear;
}

/* Two programs on one instruction run in no order that one could rely on: the entry goes back to
 * the start of the function, and if that is an exit itself, there is nothing between the two. */
static bool keep_entry_apart(struct plan_function *function, const struct return_site *sites,
			     size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (sites[i].file_offset != function->file_offset)
			continue;
		if (!function->placed_bytes)
			return false;
		function->file_offset -= function->placed_bytes;
		function->placed_bytes = 0;
		function->cost = COST_STEPPED;
	}
	return true;
}

static int set_reason(struct plan_function *function, const char *detail)
{
	char *copy = strdup(detail);

	if (!copy)
		return -ENOMEM;
	free(function->detail);
	function->detail = copy;
	function->returns = VALUE_returns_none;
	function->entry_only_reason = VALUE_entry_only_reason_exits_unknown;
	return 0;
}

/* Its exits tell that it was left, not what came of it: the function that it jumps to returns in its place. */
static bool hides_its_result(const struct return_site *sites, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (sites[i].kind != RETURN_SITE_RET)
			return true;
	return false;
}

static int take_return_address(struct plan_function *function)
{
	function->returns = VALUE_returns_session;
	function->entry_only_reason = 0;
	free(function->detail);
	function->detail = NULL;
	return 0;
}

/* One that never returns has no exits: its calls end with their thread, by longjmp or an exception. */
static int function_apply(struct module_code *code, struct plan_function *function, u8 returns,
			  bool sites_asked)
{
	_cleanup_free_ struct return_site *sites = NULL;
	const char *reason = NULL;
	size_t count = 0;
	int result = module_code_returns(code, function->address, &sites, &count, &reason);

	if (result)
		return result;
	if (function->session_safe && !sites_asked && function->allocator &&
	    (reason || hides_its_result(sites, count)))
		return take_return_address(function);
	if (!reason && !keep_entry_apart(function, sites, count))
		reason = "it is a single instruction";
	/* Where a trampoline is safe it stays what it was. */
	if (reason && function->returns == VALUE_returns_session)
		return 0;
	if (reason)
		return set_reason(function, reason);
	function->sites = take_pointer(&sites);
	function->site_count = count;
	function->returns = returns;
	function->entry_only_reason = 0;
	free(function->detail);
	function->detail = NULL;
	return 0;
}

static int module_apply(struct plan_builder *builder, size_t module, u8 returns, struct err *err)
{
	const struct plan_limits *limits = builder->limits;
	bool sites_asked =
		limits->returns == PLAN_RETURNS_STEPPED || limits->returns == PLAN_RETURNS_EMULATED;
	struct plan *plan = builder->plan;
	struct module_code *code = NULL;

	for (size_t i = 0; i < plan->function_count; i++) {
		struct plan_function *function = &plan->functions[i];

		if (function->module != module)
			continue;
		if (returns == VALUE_returns_stepped && is_dear(limits, function)) {
			leave_end_out(function);
			continue;
		}
		if (!is_candidate(limits, function, returns == VALUE_returns_emulated))
			continue;
		/* A file that can't be read well enough leaves its functions as they are. */
		if (!code && plan_code_open_for_functions(builder, module, &code))
			return 0;
		/* Go moves its stacks: sp at the end of a call may be another than at its start. */
		if (elf_file_is_go(module_code_file(code)))
			return 0;
		if (function_apply(code, function, returns, sites_asked))
			return err_errno(err, -ENOMEM, "can't plan the probes");
	}
	return 0;
}

/* ---- files, a thread each, as far as there are processors: most of the time goes into two or three of them ---- */

#define WORKERS_MAX 16

struct work {
	struct plan_builder *builder;
	u8 returns;
	size_t *modules; /* with functions */
	size_t module_count;
	atomic_size_t next;
	atomic_bool failed;
};

/* Nothing of another file is touched. */
static int exits_and_entries(struct plan_builder *builder, size_t module, u8 returns)
{
	bool single = builder->limits->single_probes || builder->plan->modules[module].by_thread;
	int result = 0;

	/* Each exit of a single probe takes another 0.1 s to take out: only when it was
	 * asked for. */
	if (!single || builder->limits->returns == PLAN_RETURNS_STEPPED)
		result = module_apply(builder, module, returns, NULL);
	if (!result)
		plan_entries_apply(builder, module);
	plan_code_close(builder, module);
	return result;
}

static void *work(void *data)
{
	struct work *work = data;
	size_t i;

	while ((i = atomic_fetch_add(&work->next, 1)) < work->module_count)
		if (exits_and_entries(work->builder, work->modules[i], work->returns))
			atomic_store(&work->failed, true);
	return NULL;
}

static void modules_list(struct work *list)
{
	const struct plan *plan = list->builder->plan;

	/* Functions are in the order of their files. */
	for (size_t i = 0; i < plan->function_count; i++)
		if (!list->module_count ||
		    list->modules[list->module_count - 1] != plan->functions[i].module)
			list->modules[list->module_count++] = plan->functions[i].module;
}

static void work_all(struct work *list)
{
	pthread_t threads[WORKERS_MAX];
	size_t wanted = thread_processors(), started = 0;

	if (wanted > list->module_count)
		wanted = list->module_count;
	while (started + 1 < wanted && started < WORKERS_MAX &&
	       !thread_start(&threads[started], work, list))
		started++;
	work(list);
	while (started)
		pthread_join(threads[--started], NULL);
}

int plan_exits_apply(struct plan_builder *builder, struct err *err)
{
	bool emulate = builder->limits->can_emulate &&
		       builder->limits->returns != PLAN_RETURNS_STEPPED &&
		       !plan_has_shadow_stack(builder);
	struct work list = {.builder = builder,
			    .returns = emulate ? VALUE_returns_emulated : VALUE_returns_stepped};
	_cleanup_free_ size_t *modules =
		calloc(builder->plan->function_count + 1, sizeof(*modules));

	list.modules = modules;
	if (modules) {
		modules_list(&list);
		work_all(&list);
	}
	return !modules || list.failed ? err_errno(err, -ENOMEM, "can't plan the probes") : 0;
}
