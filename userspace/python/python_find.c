/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "python/python_find.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

/* Each file is looked into once. Those that came since the last time are at the end of the map. */
static int look_at_files(struct python_files *files, const struct code_map *map)
{
	if (files->count == map->file_count)
		return 0;
	if (array_reserve(&files->items, &files->capacity, map->file_count))
		return -ENOMEM;
	for (size_t i = files->count; i < map->file_count; i++) {
		struct python_file file = {.result = -ENOENT};

		if (map->files[i].fd >= 0)
			file.result = python_symbols_find(map->files[i].fd, "", &file.symbols);
		files->items[i] = file;
	}
	files->count = map->file_count;
	return 0;
}

static const struct code_process *find_process(const struct code_map *map, u32 pid)
{
	for (size_t i = map->process_count; i > 0; i--)
		if (map->processes[i - 1].pid == pid)
			return &map->processes[i - 1];
	return NULL;
}

int python_find(struct python_files *files, const struct code_map *map, u32 pid,
		char ret_version[PYTHON_VERSION_BYTES], struct python_process *ret_process,
		struct err *err)
{
	const struct code_process *process = find_process(map, pid);
	const struct python_memory memory = {python_memory_of_process, &pid};

	ret_version[0] = 0;
	if (look_at_files(files, map))
		return err_errno(err, -ENOMEM, "can't look for Python");
	for (size_t i = map->count; process && i > 0; i--) {
		const struct code_mapping *mapping = &map->mappings[i - 1];
		const struct python_file *file;
		struct python_symbols symbols;

		if (mapping->pid != pid || mapping->file == SIZE_MAX ||
		    mapping->last_seen_ns < process->looked_ns)
			continue;
		file = &files->items[mapping->file];
		if (file->result == -ENOTSUP)
			return err_set(
				err, -ENOTSUP,
				"it is older than Python 3.9, or was linked without the functions "
				"that it is known by");
		if (file->result == -ENODATA)
			return err_set(
				err, -ENOTSUP,
				"the symbols of the interpreter that was linked into the program "
				"were stripped");
		symbols = file->symbols;
		if (file->result ||
		    python_symbols_place(map->files[mapping->file].fd, "", mapping->start,
					 mapping->file_offset, &symbols))
			continue;
		return python_runtime_open(&memory, &symbols, ret_version, ret_process, err);
	}
	return -ENOENT;
}

void python_files_free(struct python_files *files)
{
	free(files->items);
	*files = (struct python_files){0};
}
