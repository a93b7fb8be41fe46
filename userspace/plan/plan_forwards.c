/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/plan_parts.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static const struct {
	const char *from, *to;
} forwards[] = {
#define FORWARDS(from, to, why) {from, to},
#include "plan/forwarding_libraries.def"
};

static bool is_called(const struct code_module *module, const char *glob)
{
	for (size_t i = 0; i < module->name_count; i++)
		if (!fnmatch(glob, module->names[i], 0))
			return true;
	return false;
}

static bool may_hand_on(const struct code_module *module)
{
	for (size_t i = 0; i < ARRAY_SIZE(forwards); i++)
		if (is_called(module, forwards[i].from))
			return true;
	return false;
}

/* In every process that maps the first one. */
static bool is_mapped_with(const struct code_module *first, const struct code_module *other)
{
	for (size_t i = 0; i < first->target_count; i++)
		if (!module_is_mapped_by(other, first->targets[i]))
			return false;
	return true;
}

static bool hands_on(const struct code_module *from, const struct code_module *to)
{
	for (size_t i = 0; i < ARRAY_SIZE(forwards); i++)
		if (is_called(from, forwards[i].from) && is_called(to, forwards[i].to))
			return is_mapped_with(from, to);
	return false;
}

static bool is_handed_on(const struct plan *plan, const struct plan_function *function)
{
	/* Most are in none of these libraries, and there may be thousands. */
	if (!function->by_level || !may_hand_on(&plan->modules[function->module]))
		return false;
	for (size_t i = 0; i < plan->function_count; i++) {
		const struct plan_function *other = &plan->functions[i];

		if (other->module != function->module && !strcmp(other->name, function->name) &&
		    hands_on(&plan->modules[function->module], &plan->modules[other->module]))
			return true;
	}
	return false;
}

static const char forwarded[] =
	"it only hands the call on to the same function of another library, which is probed";

int plan_forwards_apply(struct plan_builder *builder, struct err *err)
{
	struct plan *plan = builder->plan;
	size_t kept = 0;

	/* All are asked before any is taken out: it depends on the others. */
	for (size_t i = 0; i < plan->function_count; i++)
		plan->functions[i].forwarded = is_handed_on(plan, &plan->functions[i]);
	for (size_t i = 0; i < plan->function_count; i++) {
		struct plan_function *function = &plan->functions[i];

		if (!function->forwarded)
			plan->functions[kept++] = *function;
		else if (plan_function_skip(builder, function, forwarded))
			return err_errno(err, -ENOMEM, "can't plan the probes");
	}
	plan->function_count = kept;
	return 0;
}
