/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which files of CUDA's driver a process would find that has mapped none yet: libcuda.so.1 in the folders of its LD_LIBRARY_PATH and in those
 * where distributions and container runtimes put it, below its root folder. Where there are several, any of them may be the one.
 */
#ifndef GPUPROBE_CUDA_DRIVER_FILES_H
#define GPUPROBE_CUDA_DRIVER_FILES_H

#include "process/target.h"

#define DRIVER_FILES_MAX 8

struct driver_files {
	char *paths[DRIVER_FILES_MAX]; /* as the process sees them, without links; each once */
	size_t count;
};

/* None where its folders can't be read. Only -ENOMEM is an error. */
int driver_files_find(const struct target *target, struct driver_files *ret_files);
/* The same below a folder (O_PATH). environment: as in /proc/PID/environ, NUL behind each variable. */
int driver_files_below(int root_fd, const char *environment, size_t size, struct driver_files *ret_files);
void driver_files_free(struct driver_files *files);

#endif
