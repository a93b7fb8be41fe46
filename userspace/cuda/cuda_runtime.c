/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cuda/cuda_runtime.h"

#include <stdio.h>
#include <string.h>

#include "process/modules.h"
#include "elf/elf_file.h"

static void note(struct cuda_runtime *runtime, const struct code_module *module)
{
	struct elf_file *file;

	if (elf_file_open(module->fd, module->path, &file, NULL))
		return;
	if (elf_file_has_device_code(file)) {
		if (!runtime->device_code_count++)
			snprintf(runtime->device_code, sizeof(runtime->device_code), "%s",
				 module->path);
	}
	elf_file_free(file);
}

int cuda_runtime_find(const struct target *target, const struct gpu_target *gpu,
		      struct cuda_runtime *ret_runtime, struct err *err)
{
	struct cuda_runtime runtime = {0};
	struct module_list modules;
	int result = modules_load(target, 1, &modules, err);

	if (result)
		return result;
	snprintf(runtime.shared_path, sizeof(runtime.shared_path), "%s", gpu->runtime_path);
	for (size_t i = 0; i < modules.count; i++)
		note(&runtime, &modules.items[i]);
	modules_free(&modules);
	*ret_runtime = runtime;
	return 0;
}

void cuda_runtime_append(const struct cuda_runtime *runtime, struct text *text)
{
	const char *path = *runtime->shared_path ? runtime->shared_path : runtime->device_code;

	if (!*path)
		return;
	text_append(text, *runtime->shared_path ? "  CUDA runtime: "
						: "  CUDA runtime: linked statically into ");
	text_append_terminal(text, path, strlen(path));
	if (!*runtime->shared_path && runtime->device_code_count > 1)
		text_appendf(text, " and %zu more", runtime->device_code_count - 1);
	text_append_char(text, '\n');
}
