/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Libraries whose objects say the sizes of matrices: are these as they are known? Asked while the plan is made. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plan/plan_parts.h"

/* Containers have a file of their own each. */
#define LIBRARIES_MAX 8

int plan_objects_begin(struct plan_builder *builder, struct err *err)
{
	struct plan *plan = builder->plan;

	if (builder->limits->heap)
		return 0;
	plan->libraries = calloc(LIBRARIES_MAX, sizeof(*plan->libraries));
	if (!plan->libraries)
		return err_errno(err, -ENOMEM, "can't plan the probes");
	for (size_t i = 0; i < plan->module_count && plan->library_count < LIBRARIES_MAX; i++) {
		struct plan_library *library = &plan->libraries[plan->library_count];

		if (!cublaslt_is_library(plan->modules[i].path))
			continue;
		library->module = i;
		library->is_asked = true;
		cublaslt_check_begin(plan->modules[i].fd, &library->check);
		plan->library_count++;
	}
	return 0;
}

static bool reads_objects(const struct plan *plan, size_t module)
{
	for (size_t i = 0; i < plan->function_count; i++)
		if (plan->functions[i].module == module && plan_reads_sizes(&plan->functions[i]) &&
		    plan->functions[i].matmul->operation)
			return true;
	return false;
}

void plan_objects_keep(struct plan *plan)
{
	size_t kept = 0;

	for (size_t i = 0; i < plan->library_count; i++)
		if (reads_objects(plan, plan->libraries[i].module))
			plan->libraries[kept++] = plan->libraries[i];
		else
			cublaslt_check_cancel(&plan->libraries[i].check);
	plan->library_count = kept;
}

static void forget_sizes(const struct plan *plan, size_t module)
{
	for (size_t i = 0; i < plan->function_count; i++)
		if (plan->functions[i].module == module && plan->functions[i].matmul &&
		    plan->functions[i].matmul->operation)
			plan->functions[i].matmul = NULL;
}

void plan_libraries_await(const struct plan *plan)
{
	for (size_t i = 0; i < plan->library_count; i++) {
		struct plan_library *library = &plan->libraries[i];

		if (!library->is_asked)
			continue;
		library->is_asked = false;
		library->verdict = (u8)cublaslt_check_end(&library->check, &library->why);
		if (library->verdict == CUBLASLT_OTHER)
			forget_sizes(plan, library->module);
	}
}

void plan_objects_free(struct plan *plan)
{
	for (size_t i = 0; i < plan->library_count; i++)
		cublaslt_check_cancel(&plan->libraries[i].check);
	free(plan->libraries);
}

void plan_library_tell(const struct plan *plan, const struct plan_library *library,
		       struct text *text)
{
	const char *path = plan->modules[library->module].path;

	text_append_terminal(text, path, strlen(path));
	if (library->verdict == CUBLASLT_OTHER)
		text_append(text, " has its objects otherwise in memory than gpuprobe knows: sizes "
				  "of its matrix products are not recorded");
	else if (library->verdict == CUBLASLT_UNTRIED)
		text_appendf(
			text,
			": whether it has its objects in memory as gpuprobe knows them was not "
			"tried (%s): sizes of its matrix products are recorded where its "
			"objects agree",
			library->why.message);
	else
		text_append(text, " has its objects in memory as gpuprobe knows them");
}
