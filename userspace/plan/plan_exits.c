/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions whose returns can't be taken by a trampoline without danger: their exits are probed
 * instead, if all of them are known. Nothing is written to the target's stack then, so nothing that
 * the target does with it matters.
 */
#include "plan/gpu_catalogue.h"
#include "plan/plan_parts.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "process/proc_file.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/thread.h"
#include "../bpf/record.h"
#include "../gpu/cupti/api_calls.h"

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

/*
 * Of the calls of gpu/cupti/api_calls.def these only put work into a queue: how long that took tells next to nothing. The others wait
 * for the GPU, give or take memory, or take long themselves.
 */
static bool only_queues(const char *name)
{
	static const struct {
		enum api_group group;
		const char *beginning;
	} calls[] = {
#define API(group, domain, beginning) {API_GROUP_##group, beginning},
#include "../gpu/cupti/api_calls.def"
	};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		if (strncmp(name, calls[i].beginning, strlen(calls[i].beginning)) != 0)
			continue;
		switch (calls[i].group) {
		case API_GROUP_LAUNCH:
		case API_GROUP_SET:
		case API_GROUP_EVENT:
			return true;
		case API_GROUP_COPY:
			return strstr(name, "Async") || strstr(name, "Prefetch");
		case API_GROUP_SYNCHRONISE: /* cuStreamWaitEvent: it is the stream that waits */
			return strstr(name, "Wait");
		default:
			return false;
		}
	}
	return false;
}

/*
 * Nobody named it, and the end of each call would be single-stepped (5.9 of 7.6 us of a cublasGemmEx on the H100's host), or
 * tells nothing, however it is seen; or it is one of CUDA, of which a busy process makes a hundred thousand a second.
 */
static bool is_dear(const struct plan *plan, const struct plan_limits *limits,
		    const struct plan_function *function)
{
	return limits->returns == PLAN_RETURNS_AUTO && function->by_level && !function->counted &&
	       !function->allocator &&
	       (function->returns == VALUE_returns_none || only_queues(function->name) ||
		plan_is_api(plan, function));
}

/* What it returns is wanted, and its exits would be single-stepped. */
static bool is_dear_allocator(const struct plan_limits *limits,
			      const struct plan_function *function)
{
	return limits->returns == PLAN_RETURNS_AUTO && function->by_level && function->allocator &&
	       function->session_safe;
}

/* detail: from the heap, or NULL; it goes over. */
static void returns_set(struct plan_function *function, u8 returns, u8 entry_only_reason,
			char *detail)
{
	free(function->detail);
	function->detail = detail;
	function->returns = returns;
	function->entry_only_reason = entry_only_reason;
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
		function->bytes = function->first;
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
	returns_set(function, VALUE_returns_none, VALUE_entry_only_reason_exits_unknown, copy);
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

/* What is left to be looked at of the functions of a file: their numbers. */
struct open_functions {
	size_t *items;
	size_t count, capacity;
};

/* One that never returns has no exits: its calls end with their thread, by longjmp or an exception. */
static int exits_apply(struct plan_function *function, const char *reason, u8 returns,
		       bool sites_asked, struct return_site **sites, size_t count)
{
	if (function->session_safe && !sites_asked && function->allocator &&
	    (reason || hides_its_result(*sites, count))) {
		returns_set(function, VALUE_returns_session, 0, NULL);
		return 0;
	}
	if (!reason && !keep_entry_apart(function, *sites, count))
		reason = "it is a single instruction";
	/* Where a trampoline is safe it stays what it was. */
	if (reason && function->returns == VALUE_returns_session)
		return 0;
	if (reason)
		return set_reason(function, reason);
	function->sites = take_pointer(sites);
	function->site_count = count;
	returns_set(function, returns, 0, NULL);
	return 0;
}

/* ret_asks: nothing was done yet, since it could be another when what it asked is answered. */
static int function_apply(struct module_code *code, struct plan_function *function, u8 returns,
			  bool sites_asked, bool *ret_asks)
{
	_cleanup_free_ struct return_site *sites = NULL;
	size_t count = 0, asked = module_code_questions(code);
	const char *reason = NULL;
	int result = module_code_returns(code, function->address, &sites, &count, &reason);

	if (result)
		return result;
	if (reason && ret_asks && module_code_questions(code) > asked) {
		*ret_asks = true;
		return 0;
	}
	return exits_apply(function, reason, returns, sites_asked, &sites, count);
}

/* Leaves those that ask, if they may. */
static int functions_apply(struct plan_builder *builder, struct module_code *code, u8 returns,
			   struct open_functions *functions, bool may_ask)
{
	u8 asked = builder->limits->returns;
	bool sites_asked = asked == PLAN_RETURNS_STEPPED || asked == PLAN_RETURNS_EMULATED;
	size_t left = 0;

	for (size_t i = 0; i < functions->count; i++) {
		bool asks = false;

		if (function_apply(code, &builder->plan->functions[functions->items[i]], returns,
				   sites_asked, may_ask ? &asks : NULL))
			return -ENOMEM;
		if (asks)
			functions->items[left++] = functions->items[i];
	}
	functions->count = left;
	return 0;
}

/* Those of the file whose exits are wanted. */
static int functions_choose(struct plan_builder *builder, size_t module, u8 returns,
			    struct open_functions *functions)
{
	const struct plan_limits *limits = builder->limits;
	struct plan *plan = builder->plan;

	for (size_t i = 0; i < plan->function_count; i++) {
		struct plan_function *function = &plan->functions[i];

		if (function->module != module || function->launch_only)
			continue;
		if (returns == VALUE_returns_stepped && is_dear(plan, limits, function)) {
			returns_set(function, VALUE_returns_none, VALUE_entry_only_reason_dear,
				    NULL);
			continue;
		}
		if (returns == VALUE_returns_stepped && is_dear_allocator(limits, function)) {
			returns_set(function, VALUE_returns_session, 0, NULL);
			continue;
		}
		if (!is_candidate(limits, function, returns == VALUE_returns_emulated))
			continue;
		if (array_reserve(&functions->items, &functions->capacity, functions->count + 1))
			return -ENOMEM;
		functions->items[functions->count++] = i;
	}
	return 0;
}

/* How often they may ask: about themselves, about the parts that this shows, and of those what they lead to. */
#define ROUNDS_MAX 3

static int module_apply(struct plan_builder *builder, size_t module, u8 returns)
{
	struct open_functions functions = {0};
	struct module_code *code = NULL;
	int result = functions_choose(builder, module, returns, &functions);

	/* A file that can't be read well enough leaves its functions as they are. Go moves its stacks: sp at the end of a
	 * call may be another than at its start. */
	if (!result && functions.count &&
	    (plan_code_open_for_functions(builder, module, &code) ||
	     elf_file_is_go(module_code_file(code))))
		functions.count = 0;
	for (size_t round = 0; functions.count && !result; round++) {
		bool may_ask = round < ROUNDS_MAX && (!round || !module_code_answer(code));

		result = functions_apply(builder, code, returns, &functions, may_ask);
	}
	free(functions.items);
	return result;
}

/* ---- files, a thread each, as far as there are processors: most of the time goes into two or three of them ---- */

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
		result = module_apply(builder, module, returns);
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
		thread_run_together(thread_workers(list.module_count), work, &list);
	}
	return !modules || list.failed ? err_errno(err, -ENOMEM, "can't plan the probes") : 0;
}
