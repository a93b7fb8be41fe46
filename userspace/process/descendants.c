/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/descendants.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "process/proc_file.h"
#include "base/cleanup.h"

#define STAT_PARENT 4 /* field of /proc/PID/stat */

struct process {
	u32 pid, parent;
	bool given, found;
};

struct process_list {
	struct process *items;
	size_t count;
};

static bool is_in(const u32 *pids, size_t count, u32 pid)
{
	for (size_t i = 0; i < count; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

static int list_add(struct process_list *list, struct process process)
{
	struct process *items = reallocarray(list->items, list->count + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	list->items = items;
	items[list->count++] = process;
	return 0;
}

static int read_parent(u32 pid, u32 *ret_parent)
{
	_cleanup_free_ char *stat = NULL;
	char path[32];
	int result;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	result = proc_file_read(AT_FDCWD, path, &stat, NULL);
	if (!result)
		*ret_parent = (u32)proc_stat_field(stat, STAT_PARENT);
	return result;
}

u32 descendants_parent(u32 pid)
{
	u32 parent;

	return read_parent(pid, &parent) ? 0 : parent;
}

static int list_all(struct process_list *list, const u32 *pids, size_t pid_count, struct err *err)
{
	_cleanup_closedir_ DIR *directory = opendir("/proc");
	struct dirent *entry;

	if (!directory)
		return err_errno(err, -errno, "can't list /proc");
	while ((entry = readdir(directory))) {
		u32 pid = (u32)strtoul(entry->d_name, NULL, 10);
		struct process process = {.pid = pid, .given = is_in(pids, pid_count, pid)};

		if (!pid || pid == (u32)getpid() || read_parent(pid, &process.parent))
			continue;
		if (list_add(list, process))
			return err_errno(err, -ENOMEM, "can't list the children");
	}
	return 0;
}

static bool is_ancestor(const struct process_list *list, u32 pid)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].pid == pid)
			return list->items[i].given || list->items[i].found;
	return false;
}

/* Numbers wrap around, so that a child may come before its parent: until nothing new is found. */
static size_t mark_descendants(struct process_list *list)
{
	size_t total = 0, before;

	do {
		before = total;
		for (size_t i = 0; i < list->count; i++) {
			struct process *process = &list->items[i];

			if (process->given || process->found || !is_ancestor(list, process->parent))
				continue;
			process->found = true;
			total++;
		}
	} while (total != before);
	return total;
}

int descendants_list(const u32 *pids, size_t pid_count, u32 **ret_pids, size_t *ret_count,
		     struct err *err)
{
	struct process_list list = {0};
	int result = list_all(&list, pids, pid_count, err);
	_cleanup_free_ struct process *items = list.items;
	size_t total = result ? 0 : mark_descendants(&list), count = 0;
	u32 *found;

	if (result)
		return result;
	found = calloc(total + 1, sizeof(*found));
	if (!found)
		return err_errno(err, -ENOMEM, "can't list the children");
	for (size_t i = 0; i < list.count; i++)
		if (items[i].found)
			found[count++] = items[i].pid;
	*ret_pids = found;
	*ret_count = count;
	return 0;
}
