/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that are never probed, since their code in memory is, or may become, another than that of the file. */
#include "plan/plan_parts.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "process/maps.h"
#include "process/proc_file.h"

#define FUNCTIONS_MAX 12

static const struct patcher {
	const char *library, *file;
	const char *functions[FUNCTIONS_MAX];
	const char *why;
} patchers[] = {
#define FUNCTIONS(...)      \
	{                   \
		__VA_ARGS__ \
	}
#define PATCHER(library, file, functions, who) \
	{library, file, functions,             \
	 who " is mapped, which writes jumps into it: a probe there would harm"},
#include "plan/patchers.def"
#undef PATCHER
#undef FUNCTIONS
};

static bool is_called(const struct code_module *module, const char *glob)
{
	for (size_t i = 0; i < module->name_count; i++)
		if (!fnmatch(glob, module->names[i], 0))
			return true;
	return false;
}

/* Is it mapped by a target that maps the module too? */
static bool is_beside(const struct plan_builder *builder, const char *library,
		      const struct code_module *module)
{
	const struct plan *plan = builder->plan;

	for (size_t m = 0; m < plan->module_count; m++) {
		const struct code_module *other = &plan->modules[m];

		if (!is_called(other, library))
			continue;
		for (size_t i = 0; i < module->target_count; i++)
			if (module_is_mapped_by(other, module->targets[i]))
				return true;
	}
	return false;
}

u64 plan_patchers_find(const struct plan_builder *builder, size_t module)
{
	const struct code_module *file = &builder->plan->modules[module];
	u64 found = 0;

	_Static_assert(ARRAY_SIZE(patchers) <= 64, "a bit each");
	for (size_t p = 0; p < ARRAY_SIZE(patchers); p++)
		if (is_called(file, patchers[p].file) &&
		    is_beside(builder, patchers[p].library, file))
			found |= 1ULL << p;
	return found;
}

/* ---- a library that comes while a plan is carried out ---- */

size_t plan_patcher_names(char (*ret_names)[PLAN_PATCHER_NAME_BYTES], size_t room)
{
	size_t count = 0;

	for (size_t p = 0; p < ARRAY_SIZE(patchers) && count < room; p++) {
		const char *library = patchers[p].library;
		int length = (int)strcspn(library, "*?[");
		char name[PLAN_PATCHER_NAME_BYTES] = {0};

		snprintf(name, sizeof(name), "%.*s", length, library);
		if (!count || strcmp(ret_names[count - 1], name) != 0)
			memcpy(ret_names[count++], name, sizeof(name));
	}
	return count;
}

u64 plan_patchers_mapped(const struct target *target)
{
	_cleanup_free_ char *text = NULL;
	struct maps_line line;
	u64 found = 0;
	char *rest;

	if (proc_file_read(target->proc_fd, "maps", &text, NULL))
		return 0;
	rest = text;
	while (maps_next(&rest, &line))
		for (size_t p = 0; p < ARRAY_SIZE(patchers); p++)
			if (line.executable && line.inode &&
			    !fnmatch(patchers[p].library, path_base_name(line.path), 0))
				found |= 1ULL << p;
	return found;
}

const char *plan_is_patched(const struct plan *plan, const struct plan_function *function,
			    u64 found)
{
	const char *name = function->mangled ? function->mangled : function->name;

	const char *why = NULL;

	for (size_t p = 0; p < ARRAY_SIZE(patchers) && !why; p++)
		if (found & 1ULL << p &&
		    is_called(&plan->modules[function->module], patchers[p].file))
			why = plan_patched_by(1ULL << p, name);
	return why;
}

const char *plan_patched_by(u64 found, const char *function)
{
	for (size_t p = 0; p < ARRAY_SIZE(patchers); p++) {
		if (!(found & 1ULL << p))
			continue;
		for (size_t f = 0; f < FUNCTIONS_MAX && patchers[p].functions[f]; f++)
			if (!fnmatch(patchers[p].functions[f], function, 0))
				return patchers[p].why;
	}
	return NULL;
}

const char *plan_file_differs(const struct elf_file *file)
{
	return elf_file_has_text_relocations(file)
		       ? "its file has text relocations (DT_TEXTREL): the code in memory is not "
			 "the file's, and the kernel would do the file's"
		       : NULL;
}
