/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interpreter of CPython in a process, whichever of the files that it maps has it: a program of its own, libpython, any other one. */
#ifndef GPUPROBE_PYTHON_PYTHON_FIND_H
#define GPUPROBE_PYTHON_PYTHON_FIND_H

#include "process/code_map.h"
#include "python/python_runtime.h"

/* What is known of the files of a code map; zero-initialise. */
struct python_files {
	struct python_file {
		int result; /* of python_symbols_find() */
		struct python_symbols symbols;
	} *items;
	size_t count, capacity;
};

/* As python_runtime_open(). -ENOENT: what the process mapped when it was looked at has no interpreter. Of several the one counts that was
 * loaded first, among those that have begun. */
int python_find(struct python_files *files, const struct code_map *map, u32 pid,
		char ret_version[PYTHON_VERSION_BYTES], struct python_process *ret_process,
		struct err *err);
/* 0: a second one has begun in it, of the file *ret_path, which is the map's. -ENOENT: none has. */
int python_find_second(struct python_files *files, const struct code_map *map, u32 pid, const char **ret_path);
void python_files_free(struct python_files *files);

#endif
