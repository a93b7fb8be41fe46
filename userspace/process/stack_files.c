/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/stack_files.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/cleanup.h"

#define STACK_MAX_BYTES (64 << 10)
#define THREADS_MAX	256

struct code_range {
	u64 start, end;
	size_t file;
};

struct search {
	u32 pid;
	struct code_range *ranges; /* sorted */
	size_t count;
	u64 *words;
	bool *used;
};

static int compare_ranges(const void *a, const void *b)
{
	const struct code_range *left = a, *right = b;

	return (left->start > right->start) - (left->start < right->start);
}

static int list_ranges(struct search *search, const struct code_map *map)
{
	search->ranges = calloc(map->count + 1, sizeof(*search->ranges));
	if (!search->ranges)
		return -1;
	for (size_t i = 0; i < map->count; i++) {
		const struct code_mapping *mapping = &map->mappings[i];

		if (mapping->pid == search->pid && mapping->file != SIZE_MAX)
			search->ranges[search->count++] =
				(struct code_range){mapping->start, mapping->end, mapping->file};
	}
	qsort(search->ranges, search->count, sizeof(*search->ranges), compare_ranges);
	return 0;
}

static void mark(const struct search *search, u64 address)
{
	size_t low = 0, high = search->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (search->ranges[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low && address < search->ranges[low - 1].end)
		search->used[search->ranges[low - 1].file] = true;
}

/* Where a thread waits: its stack pointer and instruction are the last numbers. False: it runs, or is gone. */
static bool read_place(u32 pid, const char *thread, u64 *ret_sp, u64 *ret_ip)
{
	char path[300], text[256], *last, *before;
	_cleanup_fclose_ FILE *file = NULL;

	snprintf(path, sizeof(path), "/proc/%u/task/%s/syscall", pid, thread);
	file = fopen(path, "re");
	if (!file || !fgets(text, sizeof(text), file))
		return false;
	last = strrchr(text, ' ');
	if (!last)
		return false;
	*last = 0;
	before = strrchr(text, ' ');
	if (!before)
		return false;
	*ret_ip = strtoull(last + 1, NULL, 16);
	*ret_sp = strtoull(before + 1, NULL, 16);
	return true;
}

static void mark_stack(const struct search *search, u64 sp, u64 ip)
{
	struct iovec local = {search->words, STACK_MAX_BYTES};
	struct iovec remote = {(void *)(sp & ~7ULL), STACK_MAX_BYTES};
	ssize_t got = process_vm_readv((pid_t)search->pid, &local, 1, &remote, 1, 0);

	mark(search, ip);
	for (ssize_t i = 0; i < got / (ssize_t)sizeof(u64); i++)
		mark(search, search->words[i]);
}

static bool mark_threads(const struct search *search)
{
	_cleanup_closedir_ DIR *folder = NULL;
	const struct dirent *entry;
	size_t count = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task", search->pid);
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		u64 sp, ip;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		if (++count > THREADS_MAX || !read_place(search->pid, entry->d_name, &sp, &ip))
			return false;
		mark_stack(search, sp, ip);
	}
	return count != 0;
}

bool stack_files_mark(const struct code_map *map, u32 pid, bool *ret_used)
{
	struct search search = {.pid = pid, .used = ret_used, .words = malloc(STACK_MAX_BYTES)};
	bool known = search.words && !list_ranges(&search, map) && mark_threads(&search);

	free(search.ranges);
	free(search.words);
	return known;
}
