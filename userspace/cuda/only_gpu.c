/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cuda/only_gpu.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define MODEL_KEY "Model:"

/* "Model: 		 NVIDIA H100 80GB HBM3" */
static void read_model(const char *folder, const char *gpu, char ret_name[64])
{
	_cleanup_fclose_ FILE *information = NULL;
	char path[512], line[256];

	if (snprintf(path, sizeof(path), "%s/%s/information", folder, gpu) >= (int)sizeof(path))
		return;
	information = fopen(path, "re");
	while (information && fgets(line, sizeof(line), information)) {
		char *model = line + strlen(MODEL_KEY);

		if (strncmp(line, MODEL_KEY, strlen(MODEL_KEY)))
			continue;
		model += strspn(model, " \t");
		model[strcspn(model, "\n")] = 0;
		snprintf(ret_name, 64, "%.63s", model);
		return;
	}
}

void only_gpu_read(const char *folder, struct only_gpu *ret_gpu)
{
	_cleanup_closedir_ DIR *gpus = opendir(folder);
	struct only_gpu gpu = {.number = ~0U};
	struct dirent *entry;
	size_t count = 0;

	while (gpus && (entry = readdir(gpus)))
		if (entry->d_name[0] != '.' && count++ == 0)
			read_model(folder, entry->d_name, gpu.name);
	gpu.number = count == 1 ? 0 : ~0U;
	if (count != 1)
		gpu.name[0] = 0;
	*ret_gpu = gpu;
}
