/*
 * The files of code that the targets map, each once, held open, so that they stay readable when the target
 * deletes them, leaves, or takes its mount namespace along.
 */
#ifndef GPUPROBE_PROCESS_MODULES_H
#define GPUPROBE_PROCESS_MODULES_H

#include "plan/plan.h"

struct module_list {
	struct plan_module *items; /* main executables first, then by path */
	size_t count;
};

/* Executable mappings of files: vdso, anonymous memory and devices are left out. A mapping that cannot be
 * opened is left out too, unless it is a main executable. */
int modules_load(const struct target *targets, size_t target_count, struct module_list *ret_list,
		 struct err *err);
void modules_free(struct module_list *list);

/*
 * For every module with wanted[i]: does a process that is no target map its file executable too? Fills
 * shared_with_others and shared_with_pid. The breakpoints of a probe go into the file's pages, so they
 * are in those processes as well. Containers that start from one image map one file under several device
 * numbers (overlayfs): the same base name and size count as the same file there.
 */
int modules_shared_with_others(struct module_list *list, const bool *wanted,
			       const struct target *targets, size_t target_count, struct err *err);

#endif
