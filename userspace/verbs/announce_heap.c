/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verbs/announce_heap.h"

#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "options/levels.h"
#include "recording/heap.h"

/* Not all of their results are seen: they may return where is not known. */
static size_t count_unseen(const struct plan *plan, const char **ret_example)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->function_count; i++) {
		if (!plan->functions[i].entry_only_reason)
			continue;
		*ret_example = plan->functions[i].name;
		count++;
	}
	return count;
}

/* "14 functions of libc.so.6, libstdc++.so.6.0.30" */
static void append_files(struct text *text, const struct plan *plan)
{
	text_appendf(text, "%zu functions of ", plan->function_count);
	for (size_t i = 0; i < plan->function_count; i++) {
		const char *name = path_base_name(plan->modules[plan->functions[i].module].path);

		if (i && plan->functions[i].module == plan->functions[i - 1].module)
			continue;
		text_append(text, i ? ", " : "");
		text_append_terminal(text, name, strlen(name));
	}
}

void announce_heap_append_plan(struct text *text, const struct attachment *attachment,
			       const struct options *options)
{
	text_append(text, "\nAllocations of host memory (--alloc): ");
	append_files(text, attachment->heap_plan);
	text_append(text, ". Of functions that only free, and of operator new where it calls "
			  "malloc, entries are enough.\n");
}

static void say_without_first_thread(const struct attachment *attachment)
{
	const struct plan *plan = attachment->heap_plan;

	for (size_t i = 0; i < plan->module_count; i++)
		if (plan->modules[i].by_thread) {
			log_warning("the first thread of a target has ended: its allocations by %s "
				    "are not seen",
				    path_base_name(plan->modules[i].path));
			return;
		}
}

void announce_heap_plan(const struct attachment *attachment, const struct options *options)
{
	const struct plan *plan = attachment->heap_plan;
	_cleanup_text_ struct text line = {0};
	const char *example = NULL;
	size_t unseen;

	if (!levels_wants_heap(options))
		return;
	if (!plan) {
		log_warning("%s", heap_why_not(attachment));
		return;
	}
	append_files(&line, plan);
	log_info("allocations of host memory: %s; each call of them costs the target some "
		 "microseconds",
		 text_string(&line));
	unseen = count_unseen(plan, &example);
	if (unseen)
		log_warning(
			"not all that %zu of them return%s may be seen (%s): what is not, is in "
			"the ledger",
			unseen, unseen == 1 ? "s" : "", example);
	say_without_first_thread(attachment);
}
