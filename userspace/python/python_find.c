/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "python/python_find.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* In the order in which interpreters count: what is linked into the program itself first; libraries that were there when the process was
 * looked at first lie the higher the earlier they were loaded, as do those that came at the same time later. */
static bool is_before(const struct code_mapping *mapping, const struct code_mapping *other,
		      const char *program)
{
	bool is_program = !strcmp(mapping->path, program);

	if (is_program != !strcmp(other->path, program))
		return is_program;
	if (mapping->first_seen_ns != other->first_seen_ns)
		return mapping->first_seen_ns < other->first_seen_ns;
	return mapping->id > other->id;
}

/* Its path as its maps have it, "" where that is not known. */
static void read_program(u32 pid, char ret_path[PATH_MAX])
{
	char link[32];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%u/exe", pid);
	length = readlink(link, ret_path, PATH_MAX - 1);
	ret_path[length > 0 ? length : 0] = 0;
}

/* The next one of those with an interpreter that the process has yet; behind NULL: the first one. */
static const struct code_mapping *next_mapping(const struct python_files *files,
					       const struct code_map *map,
					       const struct code_process *process,
					       const char *program,
					       const struct code_mapping *behind)
{
	const struct code_mapping *next = NULL;

	for (size_t i = 0; i < map->count; i++) {
		const struct code_mapping *mapping = &map->mappings[i];

		if (mapping->pid == process->pid && mapping->file != SIZE_MAX &&
		    mapping->last_seen_ns >= process->looked_ns &&
		    files->items[mapping->file].result != -ENOENT &&
		    (!behind || is_before(behind, mapping, program)) &&
		    (!next || is_before(mapping, next, program)))
			next = mapping;
	}
	return next;
}

/* An interpreter that was found, and what came of it. */
struct found {
	char version[PYTHON_VERSION_BYTES];
	struct python_process process;
	struct err err;
	int result; /* -ENOENT: there is none, else as python_runtime_open() */
};

static struct found open_mapping(const struct python_file *file, const struct code_map *map,
				 const struct code_mapping *mapping)
{
	const struct python_memory memory = {python_memory_of_process, (void *)&mapping->pid};
	struct python_symbols symbols = file->symbols;
	struct found found = {.result = file->result};

	if (found.result == -ENOTSUP)
		err_set(&found.err, -ENOTSUP,
			"it is older than Python 3.9, or was linked without the functions that it "
			"is known by");
	else if (found.result == -ENODATA)
		found.result = err_set(&found.err, -ENOTSUP,
				       "the symbols of the interpreter that was linked into the "
				       "program were stripped, or cannot be looked up");
	else if (!found.result)
		found.result = python_symbols_place(map->files[mapping->file].fd, "",
						    mapping->start, mapping->file_offset, &symbols);
	if (!found.result)
		found.result = python_runtime_open(&memory, &symbols, found.version, &found.process,
						   &found.err);
	return found;
}

/* One that has begun, whether or not it runs code of Python now. */
static bool is_in_use(const struct found *found)
{
	return !found->result || (found->result == -EAGAIN && found->process.code_type);
}

int python_find(struct python_files *files, const struct code_map *map, u32 pid,
		char ret_version[PYTHON_VERSION_BYTES], struct python_process *ret_process,
		struct err *err)
{
	const struct code_process *process = find_process(map, pid);
	const struct code_mapping *mapping = NULL;
	struct found first = {.result = -ENOENT};
	char program[PATH_MAX];

	ret_version[0] = 0;
	read_program(pid, program);
	if (look_at_files(files, map))
		return err_errno(err, -ENOMEM, "can't look for Python");
	/* One that is only mapped stands for the process only where there is no other one. */
	while (process && !is_in_use(&first) &&
	       (mapping = next_mapping(files, map, process, program, mapping))) {
		struct found found = open_mapping(&files->items[mapping->file], map, mapping);

		if (first.result == -ENOENT || is_in_use(&found))
			first = found;
	}
	memcpy(ret_version, first.version, sizeof(first.version));
	if (is_in_use(&first))
		*ret_process = first.process;
	return first.result && first.result != -ENOENT
		       ? err_set(err, first.result, "%s", first.err.message)
		       : first.result;
}

int python_find_second(struct python_files *files, const struct code_map *map, u32 pid,
		       const char **ret_path)
{
	const struct code_process *process = find_process(map, pid);
	const struct code_mapping *mapping = NULL;
	char program[PATH_MAX];
	u64 first = 0;

	read_program(pid, program);
	if (look_at_files(files, map))
		return -ENOMEM;
	while (process && (mapping = next_mapping(files, map, process, program, mapping))) {
		struct found found = open_mapping(&files->items[mapping->file], map, mapping);

		/* A file has several mappings where parts of its code were changed. */
		if (!is_in_use(&found) || found.process.code_type == first)
			continue;
		if (first) {
			*ret_path = mapping->path;
			return 0;
		}
		first = found.process.code_type;
	}
	return -ENOENT;
}

void python_files_free(struct python_files *files)
{
	free(files->items);
	*files = (struct python_files){0};
}
