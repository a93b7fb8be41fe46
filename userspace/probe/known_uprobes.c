/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/known_uprobes.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <limits.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/path.h"

/* What is read of struct bpf_link_info (kernel ABI, <linux/bpf.h>); the installed header may be older than the kernel. */
struct link_info {
	u32 type, id, program;
	union {
		struct {
			u64 path __attribute__((aligned(8)));
			u64 offsets, reference_counters, cookies;
			u32 path_bytes, count, flags, pid;
		} multi;
		struct {
			u32 kind;
			u64 path __attribute__((aligned(8)));
			u32 path_bytes, offset;
			u64 cookie;
		} single;
	};
};

enum {
	LINK_PERF_EVENT = 7,
	LINK_UPROBE_MULTI = 12,
	PERF_EVENT_UPROBE = 1,
	PERF_EVENT_URETPROBE = 2,
};

/* Of a file. */
struct known_places {
	char *name;
	u64 *offsets;
	size_t count;
};

struct known_uprobes {
	struct known_places *items;
	size_t count, capacity;
};

/* Takes the offsets over. */
static int add(struct known_uprobes *known, const char *path, u64 *offsets, size_t count)
{
	_cleanup_free_ char *seen = path_from_proc(path, "", NULL);
	struct known_places places = {NULL, offsets, count};

	places.name = seen ? strdup(path_base_name(seen)) : NULL;
	if (!places.name || array_reserve(&known->items, &known->capacity, known->count + 1)) {
		free(places.name);
		free(offsets);
		return -ENOMEM;
	}
	known->items[known->count++] = places;
	return 0;
}

static int add_one(struct known_uprobes *known, const char *path, u64 offset)
{
	u64 *offsets = malloc(sizeof(*offsets));

	if (!offsets)
		return -ENOMEM;
	*offsets = offset;
	return add(known, path, offsets, 1);
}

static bool info_read(int fd, struct link_info *info)
{
	u32 size = sizeof(*info);

	return !bpf_obj_get_info_by_fd(fd, info, &size);
}

static int add_multi(struct known_uprobes *known, int fd, const struct link_info *first)
{
	char path[PATH_MAX] = "";
	struct link_info info = {0};
	u64 *offsets = calloc(first->multi.count + 1, sizeof(*offsets));

	if (!offsets)
		return -ENOMEM;
	info.multi.path = (u64)(uintptr_t)path;
	info.multi.path_bytes = sizeof(path);
	info.multi.offsets = (u64)(uintptr_t)offsets;
	info.multi.count = first->multi.count;
	if (first->multi.count && info_read(fd, &info))
		return add(known, path, offsets, first->multi.count);
	free(offsets);
	return 0;
}

static int add_single(struct known_uprobes *known, int fd)
{
	char path[PATH_MAX] = "";
	struct link_info info = {0};

	info.single.path = (u64)(uintptr_t)path;
	info.single.path_bytes = sizeof(path);
	if (!info_read(fd, &info) ||
	    (info.single.kind != PERF_EVENT_UPROBE && info.single.kind != PERF_EVENT_URETPROBE))
		return 0;
	return add_one(known, path, info.single.offset);
}

static int add_link(struct known_uprobes *known, u32 id)
{
	_cleanup_close_ int fd = bpf_link_get_fd_by_id(id);
	struct link_info info = {0};

	if (fd < 0 || !info_read(fd, &info))
		return 0;
	if (info.type == LINK_UPROBE_MULTI)
		return add_multi(known, fd, &info);
	return info.type == LINK_PERF_EVENT ? add_single(known, fd) : 0;
}

/* "p:GROUP/NAME PATH:0xOFFSET ..." */
static int add_event(struct known_uprobes *known, char *line)
{
	char *path = strchr(line, ' '), *end = path ? strchr(path + 1, ' ') : NULL, *offset;

	if (!path)
		return 0;
	if (end)
		*end = '\0';
	offset = strrchr(++path, ':');
	if (!offset)
		return 0;
	*offset++ = '\0';
	return add_one(known, path, strtoull(offset, NULL, 16));
}

static int add_events(struct known_uprobes *known)
{
	FILE *file = fopen("/sys/kernel/tracing/uprobe_events", "re");
	char *line = NULL;
	size_t room = 0;
	int result = 0;

	while (file && !result && getline(&line, &room, file) > 0)
		result = add_event(known, line);
	free(line);
	if (file)
		fclose(file);
	return result;
}

struct known_uprobes *known_uprobes_read(void)
{
	struct known_uprobes *known = calloc(1, sizeof(*known));
	int result = known ? add_events(known) : -ENOMEM;
	u32 id = 0;

	while (!result && !bpf_link_get_next_id(id, &id))
		result = add_link(known, id);
	return result ? known_uprobes_free(known) : known;
}

bool known_uprobes_has(const struct known_uprobes *known, const char *file_name, u64 file_offset)
{
	for (size_t i = 0; i < known->count; i++) {
		const struct known_places *places = &known->items[i];

		if (strcmp(places->name, file_name) != 0)
			continue;
		for (size_t p = 0; p < places->count; p++)
			if (places->offsets[p] == file_offset)
				return true;
	}
	return false;
}

struct known_uprobes *known_uprobes_free(struct known_uprobes *known)
{
	if (!known)
		return NULL;
	for (size_t i = 0; i < known->count; i++) {
		free(known->items[i].name);
		free(known->items[i].offsets);
	}
	free(known->items);
	free(known);
	return NULL;
}
