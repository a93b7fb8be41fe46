/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the returns of allocators are seen: those of this very process, which has some of its own. */
#include "plan/plan.h"

#include <dlfcn.h>
#include <unistd.h>

#include "../bpf/record.h"
#include "plan/heap_functions.h"
#include "unit.h"

#define FUNCTION(name, code) \
	".globl " name "\n.type " name ",@function\n" name ": " code "\n.size " name ",.-" name "\n"

__asm__(".pushsection .text\n" FUNCTION("je_malloc", "mov %rdi, %rax\n ret")
		FUNCTION("je_calloc", "jmp *%rax") FUNCTION("je_free", "push %rbx\n pop %rbx\n ret")
			FUNCTION("mi_new",
				 "test %edi, %edi\n je 1f\n ret\n 1: xor %eax, %eax\n ret")
				FUNCTION("mi_new_nothrow", "nop\n jmp mi_new")
					FUNCTION("je_xmalloc", "ret") ".popsection");

static struct plan *plan_of(const struct plan_limits *limits)
{
	static char everything[] = "*:*";
	char *const patterns[] = {everything};
	struct plan *plan = NULL;
	struct target target = {0};
	struct err err = {0};

	CHECK_OK(target_open((u32)getpid(), false, &target, &err), err);
	CHECK_OK(plan_build(&target, 1, patterns, 1, limits, &plan, &err), err);
	target_close(&target);
	return plan;
}

static const struct plan_limits with_sessions = {
	.has_session = true, .heap = true, .max_functions = 100000, .optional_patterns = 1};
static const struct plan_limits without_sessions = {
	.heap = true, .max_functions = 100000, .optional_patterns = 1};
static const struct plan_limits emulating = {.has_session = true,
					     .can_emulate = true,
					     .heap = true,
					     .max_functions = 100000,
					     .optional_patterns = 1};

/* In this program, or in a file whose path has the words. */
static const struct plan_function *find(const struct plan *plan, const char *file, const char *name)
{
	for (size_t i = 0; plan && i < plan->function_count; i++) {
		const struct plan_function *function = &plan->functions[i];
		const struct code_module *module = &plan->modules[function->module];

		if (!strcmp(function->mangled ? function->mangled : function->name, name) &&
		    (file ? strstr(module->path, file) != NULL : module->main_executable))
			return function;
	}
	return NULL;
}

static void check(const struct plan *plan, const char *name, unsigned returns, size_t sites,
		  unsigned reason)
{
	const struct plan_function *function = find(plan, NULL, name);

	if (!function) {
		UNIT_FAIL("%s is not in the plan", name);
		return;
	}
	CHECK(function->allocator == heap_function_find(name));
	if (function->returns != returns || function->site_count != sites ||
	    function->entry_only_reason != reason)
		UNIT_FAIL("%s: returns %u, %zu sites, reason %u", name, function->returns,
			  function->site_count, function->entry_only_reason);
}

TEST(return_addresses_of_functions_that_cannot_throw)
{
	struct plan *plan = plan_of(&with_sessions);

	check(plan, "je_malloc", VALUE_returns_session, 0, 0);
	check(plan, "je_calloc", VALUE_returns_session, 0, 0);
	/* There is nothing to see behind the entry. */
	check(plan, "je_free", VALUE_returns_none, 0, 0);
	CHECK(!find(plan, NULL, "je_xmalloc"));
	plan_free(plan);
}

TEST(exits_of_functions_that_may_throw)
{
	struct plan *plan = plan_of(&with_sessions);
	const struct plan_function *one = find(plan, NULL, "mi_new");
	const struct plan_function *other = find(plan, NULL, "mi_new_nothrow");

	/* Both return at the same places: each has one probe. */
	CHECK(one && one->returns == VALUE_returns_stepped && !one->entry_only_reason);
	CHECK(other && other->returns == VALUE_returns_stepped && !other->entry_only_reason);
	CHECK_U64((one ? one->site_count : 0) + (other ? other->site_count : 0), 2);
	plan_free(plan);
	plan = plan_of(&emulating);
	one = find(plan, NULL, "mi_new");
	CHECK(one && one->returns == VALUE_returns_emulated);
	check(plan, "je_malloc", VALUE_returns_session, 0, 0);
	plan_free(plan);
}

TEST(exits_where_there_are_no_sessions)
{
	struct plan *plan = plan_of(&without_sessions);

	check(plan, "je_malloc", VALUE_returns_stepped, 1, 0);
	check(plan, "je_calloc", VALUE_returns_none, 0, VALUE_entry_only_reason_exits_unknown);
	check(plan, "je_free", VALUE_returns_none, 0, 0);
	plan_free(plan);
}

/* libstdc++: its operator new calls malloc, its operator delete free. */
TEST(operators_that_call_those_of_c)
{
	struct plan *plan;
	const struct plan_function *function;

	if (!dlopen("libstdc++.so.6", RTLD_NOW))
		SKIP("no libstdc++");
	plan = plan_of(&with_sessions);
	function = find(plan, "libstdc++", "_Znwm");
	CHECK(function && function->returns == VALUE_returns_none && !function->site_count);
	CHECK(!find(plan, "libstdc++", "_ZdlPv"));
	function = find(plan, "/libc.so.6", "malloc");
	CHECK(function && function->returns == VALUE_returns_session);
	plan_free(plan);
}

TEST(all_are_allocators_and_as_many_as_matched)
{
	struct plan *plan = plan_of(&with_sessions);

	for (size_t i = 0; i < plan->function_count; i++)
		CHECK(plan->functions[i].allocator != NULL);
	CHECK(plan->matched_count >= plan->function_count);
	plan_free(plan);
}

UNIT_MAIN()
