/*
 * Where return addresses are put back before a stack is unwound (--returns guarded). That keeps a target alive only
 * if no unwinder is missed, so a file that may raise exceptions by one that cannot be found refuses the whole plan.
 */
#include "plan/plan_parts.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "process/loader.h"
#include "base/array.h"
#include "base/cleanup.h"

static const char *const unwinders[] = {
#define UNWINDER(symbol) symbol,
#include "plan/unwinders.def"
#undef UNWINDER
};

/* What a file asks of others that leaves unwinding to them. */
static const char *const shared_unwinding[] = {"_Unwind_RaiseException", "_Unwind_Resume",
					       "__gxx_personality_v0", "__cxa_throw"};

static bool is_unwinder_library(const struct code_module *module)
{
	for (size_t i = 0; i < module->name_count; i++)
		if (!fnmatch("libgcc_s*.so*", module->names[i], 0) ||
		    !fnmatch("libunwind*.so*", module->names[i], 0))
			return true;
	return false;
}

static bool is_unwinder(const char *symbol)
{
	for (size_t i = 0; i < ARRAY_SIZE(unwinders); i++)
		if (!strcmp(symbol, unwinders[i]))
			return true;
	return false;
}

/* place: an offset in the module's file. */
static int guard_add(struct plan *plan, size_t module, u64 place)
{
	if (array_reserve(&plan->guards, &plan->guard_capacity, plan->guard_count + 1))
		return -ENOMEM;
	plan->guards[plan->guard_count++] = (struct plan_guard){module, place};
	return 0;
}

/* Those of one file; symbols are sorted by address, so that two names of one place come together. */
static int unwinders_add(struct plan *plan, size_t module, struct elf_file *file, const char *root)
{
	struct elf_symbols symbols = {0};
	u64 last = 0, offset;
	int result = elf_symbols_load(file, root, &symbols, NULL);

	for (size_t i = 0; i < symbols.count && !result; i++) {
		const struct elf_symbol *symbol = &symbols.items[i];

		if (!is_unwinder(symbol->name) || symbol->address == last ||
		    elf_file_offset(file, symbol->address, &offset))
			continue;
		last = symbol->address;
		result = guard_add(plan, module, offset);
	}
	elf_symbols_free(&symbols);
	return result;
}

static int refuse(const struct code_module *module, struct err *err)
{
	return err_set(
		err, -EOPNOTSUPP,
		"--returns guarded: %s may raise exceptions by an unwinder of its own, which "
		"cannot be found in it (no symbols?), and one that is not guarded ends the "
		"target. Leave --returns out, or use --returns stepped.",
		module->path);
}

static int module_guard(struct plan_builder *builder, size_t index, struct err *err)
{
	const struct code_module *module = &builder->plan->modules[index];
	size_t before = builder->plan->guard_count;
	bool uses_shared, throws;
	struct elf_file *file;
	u64 offset;
	int result;

	if (!loader_find(module, &offset) && guard_add(builder->plan, index, offset))
		return err_errno(err, -ENOMEM, "can't plan the probes");
	before = builder->plan->guard_count;
	if (elf_file_open(module->fd, module->path, &file, NULL))
		return refuse(module, err);
	throws = elf_file_has_personality(file) || is_unwinder_library(module);
	uses_shared = !elf_file_is_static(file) &&
		      elf_file_uses(file, shared_unwinding, ARRAY_SIZE(shared_unwinding));
	result = throws ? unwinders_add(builder->plan, index, file,
					plan_module_root(builder, module))
			: 0;
	elf_file_free(file);
	if (result == -ENOMEM)
		return err_errno(err, result, "can't plan the probes");
	if (throws && !uses_shared && builder->plan->guard_count == before)
		return refuse(module, err);
	return 0;
}

int plan_guards_apply(struct plan_builder *builder, struct err *err)
{
	int result = 0;

	if (builder->limits->returns != PLAN_RETURNS_GUARDED)
		return 0;
	if (plan_has_shadow_stack(builder))
		return err_set(err, -EOPNOTSUPP,
			       "--returns guarded: the target has a shadow stack, a second copy of "
			       "its return addresses. Leave --returns out.");
	for (size_t i = 0; i < builder->plan->module_count && !result; i++)
		result = module_guard(builder, i, err);
	return result;
}
