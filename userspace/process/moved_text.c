/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/moved_text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"

#define COMPARED_BYTES (256U << 10)
#define LEAST_BYTES    4096
#define BREAKPOINT     0xcc

static bool are_same(const u8 *memory, const u8 *file, size_t count)
{
	if (!memcmp(memory, file, count))
		return true;
	for (size_t i = 0; i < count; i++)
		if (memory[i] != file[i] && memory[i] != BREAKPOINT)
			return false;
	return true;
}

/* How much of the file follows there. */
static u64 bytes_behind(int fd, u64 offset)
{
	struct stat status;

	return fstat(fd, &status) || offset >= (u64)status.st_size ? 0
								   : (u64)status.st_size - offset;
}

/* memory: so much of what is at the place that is asked for. */
static bool file_has(int fd, u64 offset, const u8 *memory, u64 count, u8 *bytes)
{
	return file_read_at(fd, bytes, count, offset) == (ssize_t)count &&
	       are_same(memory, bytes, count);
}

static ssize_t read_memory(int proc_fd, const struct maps_line *line, u8 *bytes)
{
	_cleanup_close_ int fd = openat(proc_fd, "mem", O_RDONLY | O_CLOEXEC);
	u64 count = line->end - line->start;

	if (fd < 0)
		return -1;
	return file_read_at(fd, bytes, count < COMPARED_BYTES ? count : COMPARED_BYTES,
			    line->start);
}

const struct code_mapping *moved_text_find(const struct code_map *map, u32 pid, int proc_fd,
					   const struct maps_line *line, u64 *ret_file_offset)
{
	_cleanup_free_ u8 *memory = NULL, *bytes = NULL;
	size_t last_file = SIZE_MAX;
	u64 last_offset = 0;
	ssize_t count = 0;

	for (size_t i = map->count; i > 0; i--) {
		const struct code_mapping *mapping = &map->mappings[i - 1];
		u64 offset = mapping->file_offset + line->start - mapping->start, behind;
		int fd;

		if (mapping->pid != pid || mapping->file == SIZE_MAX || offset > INT64_MAX ||
		    (mapping->file == last_file && offset == last_offset))
			continue;
		last_file = mapping->file;
		last_offset = offset;
		fd = map->files[mapping->file].fd;
		behind = bytes_behind(fd, offset);
		if (behind < LEAST_BYTES)
			continue;
		if (!memory) {
			memory = malloc(COMPARED_BYTES);
			bytes = malloc(COMPARED_BYTES);
			count = memory && bytes ? read_memory(proc_fd, line, memory) : -1;
		}
		if (count < LEAST_BYTES)
			return NULL;
		if (!file_has(fd, offset, memory, behind < (u64)count ? behind : (u64)count, bytes))
			continue;
		*ret_file_offset = offset;
		return mapping;
	}
	return NULL;
}
