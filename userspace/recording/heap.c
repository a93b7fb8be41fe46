#include "recording/heap.h"

#include <errno.h>
#include <string.h>

#include "../bpf/record.h"
#include "base/log.h"
#include "base/path.h"
#include "options/levels.h"

static const char no_multi[] =
	"allocations of host memory can't be recorded: that takes uprobe_multi (Linux 6.6 and "
	"later, without --attach single)";
static const char no_functions[] =
	"allocations of host memory can't be recorded: no file that the target maps has functions "
	"called malloc and free, or those of jemalloc, tcmalloc or mimalloc (a static program "
	"needs "
	"its symbols)";

static bool is_asked(const struct options *options)
{
	return options->given.alloc_mode;
}

static int can_not(const struct options *options, int code, const char *why, struct err *err)
{
	return is_asked(options) ? err_set(err, code, "%s.", why) : 0;
}

int heap_plan_make(const struct options *options, struct attachment *attachment, struct err *err)
{
	static char everything[] = "*:*";
	char *const patterns[] = {everything};
	struct plan_limits limits = {
		.max_functions = options->max_functions,
		.has_session = attachment->abilities.uprobe_session,
		.can_emulate = attachment->abilities.set_registers,
		.children = options->children,
		.heap = true,
		.optional_patterns = ARRAY_SIZE(patterns),
	};
	int result;

	attachment->heap_plan = plan_free(attachment->heap_plan);
	if (!levels_wants_heap(options))
		return 0;
	if (attachment->single_probes)
		return can_not(options, -EOPNOTSUPP, no_multi, err);
	result = plan_build(attachment->targets, attachment->target_count, patterns,
			    ARRAY_SIZE(patterns), &limits, &attachment->heap_plan, err);
	if (result || attachment->heap_plan->function_count)
		return result;
	attachment->heap_plan = plan_free(attachment->heap_plan);
	return can_not(options, -ENOENT, no_functions, err);
}

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

void heap_append_plan(struct text *text, const struct attachment *attachment,
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

void heap_say_plan(const struct attachment *attachment, const struct options *options)
{
	const struct plan *plan = attachment->heap_plan;
	_cleanup_text_ struct text line = {0};
	const char *example = NULL;
	size_t unseen;

	if (!levels_wants_heap(options))
		return;
	if (!plan) {
		log_warning("%s", attachment->single_probes ? no_multi : no_functions);
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
