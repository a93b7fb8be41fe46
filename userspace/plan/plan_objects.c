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
	builder->checks = calloc(LIBRARIES_MAX, sizeof(*builder->checks));
	if (!plan->libraries || !builder->checks)
		return err_errno(err, -ENOMEM, "can't plan the probes");
	for (size_t i = 0; i < plan->module_count && plan->library_count < LIBRARIES_MAX; i++) {
		struct err why = {0};

		if (!cublaslt_is_library(plan->modules[i].path))
			continue;
		plan->libraries[plan->library_count].module = i;
		/* The reason is told by the end of it. */
		cublaslt_check_begin(plan->modules[i].fd, &builder->checks[plan->library_count],
				     &why);
		plan->library_count++;
	}
	return 0;
}

static void forget_sizes(struct plan *plan, size_t module)
{
	for (size_t i = 0; i < plan->function_count; i++)
		if (plan->functions[i].module == module && plan->functions[i].matmul &&
		    plan->functions[i].matmul->operation)
			plan->functions[i].matmul = NULL;
}

static bool reads_objects(const struct plan *plan, size_t module)
{
	for (size_t i = 0; i < plan->function_count; i++)
		if (plan->functions[i].module == module && plan_reads_sizes(&plan->functions[i]) &&
		    plan->functions[i].matmul->operation)
			return true;
	return false;
}

void plan_objects_end(struct plan_builder *builder)
{
	struct plan *plan = builder->plan;
	size_t kept = 0;

	for (size_t i = 0; i < plan->library_count; i++) {
		struct plan_library library = plan->libraries[i];

		library.verdict = (u8)cublaslt_check_end(&builder->checks[i], &library.why);
		if (!reads_objects(plan, library.module))
			continue;
		if (library.verdict == CUBLASLT_OTHER)
			forget_sizes(plan, library.module);
		plan->libraries[kept++] = library;
	}
	plan->library_count = kept;
	free(builder->checks);
	builder->checks = NULL;
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
