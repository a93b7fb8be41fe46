/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/gpu_catalogue.h"

#include <fnmatch.h>

#include "../gpu/cupti/api_calls.h"

#define FILES_driver	"libcuda.so*"
#define FILES_runtime	"libcudart*.so*"
#define LIBRARY_driver	FILES_driver ":"
#define LIBRARY_runtime FILES_runtime ":"

/*
 * The runtime's functions call those of the driver, at the exported ones (stacks of an H100's: cuLaunchKernel < libcudart <
 * cudaLaunchKernel): one hit a call tells enough. Of memory the accounts go by the outermost call.
 */
static const struct {
	enum gpu_catalogue_part part;
	unsigned level;
	const char *pattern;
	enum api_group group; /* of calls of the API at level 2 */
} entries[] = {
#define PART_driver(group)  (API_GROUP_BIT(group) & API_GROUPS_LAUNCHES ? GPU_CATALOGUE_LAUNCHES : 0)
#define PART_runtime(group) 0
#define API(group, domain, beginning) \
	{PART_##domain(group), 0, LIBRARY_##domain beginning "*", API_GROUP_##group},
#include "../gpu/cupti/api_calls.def"
#define RUNTIME_driver	false
#define RUNTIME_runtime true
#define API(group, domain, beginning)                                                            \
	{GPU_CATALOGUE_API, RUNTIME_##domain && API_GROUP_##group != API_GROUP_ALLOCATE ? 3 : 2, \
	 LIBRARY_##domain beginning "*", API_GROUP_##group},
#include "../gpu/cupti/api_calls.def"
#define ENTRY(part, level, pattern) {GPU_CATALOGUE_##part, level, pattern, API_GROUP_OTHER},
#include "plan/gpu_catalogue.def"
};

static u32 api_groups_of(u64 level)
{
	return level > 2 ? API_GROUPS_EVERY : API_GROUPS_DEFAULT | API_GROUP_BIT(OTHER);
}

size_t gpu_catalogue_patterns(unsigned parts, u64 level, const char **ret_patterns)
{
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		if (!(entries[i].part & parts) || entries[i].level > level ||
		    (entries[i].level && !(api_groups_of(level) >> entries[i].group & 1)))
			continue;
		if (ret_patterns)
			ret_patterns[count] = entries[i].pattern;
		count++;
	}
	return count;
}

static bool is_api_library(const struct code_module *module)
{
	for (size_t i = 0; i < module->name_count; i++)
		if (!fnmatch(FILES_driver, module->names[i], 0) ||
		    !fnmatch(FILES_runtime, module->names[i], 0))
			return true;
	return false;
}

bool plan_is_api(const struct plan *plan, const struct plan_function *function)
{
	return function->by_level && !function->launch_only &&
	       is_api_library(&plan->modules[function->module]);
}

bool plan_has_api(const struct plan *plan)
{
	for (size_t i = 0; i < plan->function_count; i++)
		if (plan_is_api(plan, &plan->functions[i]))
			return true;
	return false;
}
