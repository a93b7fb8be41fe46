/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cuda/gpu_target.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/maps.h"
#include "process/proc_file.h"
#include "base/cleanup.h"
#include "base/path.h"

/* clang-format off */
/* Beginnings of file names, and what of gpu_target they fill in. */
static const struct {
	const char *prefix;
	size_t path_offset;  /* the first such file */
	size_t count_offset; /* different ones; 0: not counted */
} libraries[] = {
	{"libcuda.so",               offsetof(struct gpu_target, driver_path),  0},
	{"libcupti.so",              offsetof(struct gpu_target, cupti_path),   offsetof(struct gpu_target, cupti_count)},
	{"libcudart.so",             offsetof(struct gpu_target, runtime_path), 0},
	{"libToolsInjection",        offsetof(struct gpu_target, other_tool),   0}, /* Nsight Systems */
	{"libcuda-injection",        offsetof(struct gpu_target, other_tool),   0}, /* Nsight Compute */
	{"libsanitizer-collection",  offsetof(struct gpu_target, other_tool),   0}, /* compute-sanitizer */
	{"libparcagpucupti.so",      offsetof(struct gpu_target, other_tool),   0},
};
/* clang-format on */

static void note_library(struct gpu_target *gpu, size_t row, const char *path)
{
	char *first = (char *)gpu + libraries[row].path_offset;
	unsigned *count = (unsigned *)((char *)gpu + libraries[row].count_offset);

	if (!*first)
		snprintf(first, sizeof(gpu->cupti_path), "%s", path);
	if (libraries[row].count_offset)
		(*count)++;
}

static void note_mapping(struct gpu_target *gpu, const char *path)
{
	static const char memfd[] = "memfd:"; /* what gpuprobe handed over */
	const char *name = path_base_name(path);

	if (!strncmp(name, memfd, strlen(memfd)))
		name += strlen(memfd);
	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++)
		if (!strncmp(name, libraries[i].prefix, strlen(libraries[i].prefix)))
			note_library(gpu, i, path);
}

bool gpu_target_is_driver(const char *path)
{
	struct gpu_target gpu = {0};

	note_mapping(&gpu, path);
	return *gpu.driver_path;
}

/* libcuda.so.580.65.06; libcuda.so.1 says nothing. */
static void read_driver_version(struct gpu_target *gpu)
{
	const char *name = path_base_name(gpu->driver_path) + strlen("libcuda.so");

	if (*name == '.' && strchr(name + 1, '.') && strspn(name, ".0123456789") == strlen(name))
		snprintf(gpu->driver_version, sizeof(gpu->driver_version), "%s", name + 1);
}

int gpu_target_read(const struct target *target, struct gpu_target *ret_gpu, struct err *err)
{
	struct gpu_target gpu = {0};
	_cleanup_free_ char *maps = NULL;
	struct maps_line line;
	size_t size;
	char *text;
	int result = proc_file_read(target->proc_fd, "maps", &maps, &size);

	if (result)
		return err_errno(err, result, "can't read what %s (%u) has mapped", target->comm,
				 target->pid);
	text = maps;
	/* The first page of a library is mapped once. */
	while (maps_next(&text, &line))
		if (line.inode && !line.file_offset && *line.path == '/')
			note_mapping(&gpu, line.path);
	gpu.cuda = *gpu.driver_path;
	if (gpu.cuda)
		read_driver_version(&gpu);
	*ret_gpu = gpu;
	return 0;
}
