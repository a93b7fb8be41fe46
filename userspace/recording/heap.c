/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording/heap.h"

#include <errno.h>
#include <string.h>

#include "options/levels.h"

static const char no_multi[] =
	"allocations of host memory can't be recorded: that takes uprobe_multi (Linux 6.6.35, "
	"6.9.5 and later, without --attach single)";
static const char no_functions[] =
	"allocations of host memory can't be recorded: no file that the target maps has functions "
	"called malloc and free, or those of jemalloc, tcmalloc or mimalloc (a static program "
	"needs "
	"its symbols)";

const char *heap_why_not(const struct attachment *attachment)
{
	return attachment->single_probes ? no_multi : no_functions;
}

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
		return can_not(options, -EOPNOTSUPP, heap_why_not(attachment), err);
	result = plan_build(attachment->targets, attachment->target_count, patterns,
			    ARRAY_SIZE(patterns), &limits, &attachment->heap_plan, err);
	if (result || attachment->heap_plan->function_count)
		return result;
	attachment->heap_plan = plan_free(attachment->heap_plan);
	return can_not(options, -ENOENT, heap_why_not(attachment), err);
}
