/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who else maps the files that we want to probe: one pass over /proc. */
#include "process/modules.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "process/maps.h"
#include "process/proc_file.h"
#include "base/cleanup.h"
#include "base/path.h"

struct scan {
	struct module_list *list;
	const bool *wanted;
	u64 *size_bytes;   /* of each module */
	size_t open_count; /* wanted ones that nobody else was found to map so far */
};

/* Does this mapping on another device show the same file, by way of overlayfs? */
static bool same_by_overlay(const struct scan *scan, size_t index, u32 pid,
			    const struct maps_line *line)
{
	const struct code_module *module = &scan->list->items[index];
	char path[96];
	struct statfs system;
	struct stat status;

	if (strcmp(path_base_name(line->path), path_base_name(module->path)) != 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", pid,
		 (unsigned long long)line->start, (unsigned long long)line->end);
	if (stat(path, &status) < 0)
		return module->overlay;
	if ((u64)status.st_size != scan->size_bytes[index])
		return false;
	return module->overlay ||
	       (statfs(path, &system) == 0 && system.f_type == OVERLAYFS_SUPER_MAGIC);
}

static bool same_file(const struct scan *scan, size_t index, u32 pid, const struct maps_line *line)
{
	const struct code_module *module = &scan->list->items[index];

	if (module_is_mapped_as(module, line->device, line->inode))
		return true;
	return line->device != module->numbers.maps_device &&
	       same_by_overlay(scan, index, pid, line);
}

/* Empty for kernel threads, and for a process whose first thread has ended: its mappings are shown by another. */
static int maps_read(u32 pid, char **ret_maps)
{
	char path[48];
	size_t size = 0;
	u32 thread;
	int result;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	result = proc_file_read(AT_FDCWD, path, ret_maps, &size);
	thread = result || size ? 0 : target_living_thread(pid, pid);
	if (!thread)
		return result;
	free(*ret_maps);
	*ret_maps = NULL;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/maps", pid, thread);
	return proc_file_read(AT_FDCWD, path, ret_maps, NULL);
}

static int process_scan(struct scan *scan, u32 pid)
{
	_cleanup_free_ char *maps = NULL;
	struct maps_line line;
	int result = maps_read(pid, &maps);

	if (result)
		return result == -ENOMEM ? result : 0;
	for (char *at = maps; maps_next(&at, &line);) {
		if (!line.executable || !line.inode)
			continue;
		for (size_t i = 0; i < scan->list->count; i++) {
			struct code_module *module = &scan->list->items[i];

			if (!scan->wanted[i] || module->shared_with_others ||
			    !same_file(scan, i, pid, &line))
				continue;
			module->shared_with_others = true;
			module->shared_with_pid = pid;
			scan->open_count--;
		}
	}
	return 0;
}

static int scan_processes(struct scan *scan, const struct target *targets, size_t target_count,
			  struct err *err)
{
	_cleanup_closedir_ DIR *directory = opendir("/proc");
	struct dirent *entry;

	if (!directory)
		return err_errno(err, -errno, "can't list /proc");
	while (scan->open_count && (entry = readdir(directory))) {
		char *end;
		unsigned long pid = strtoul(entry->d_name, &end, 10);

		if (end == entry->d_name || *end || target_find(targets, target_count, (u32)pid))
			continue;
		if (process_scan(scan, (u32)pid))
			return err_errno(err, -ENOMEM, "can't read /proc/%lu/maps", pid);
	}
	return 0;
}

int modules_shared_with_others(struct module_list *list, const bool *wanted,
			       const struct target *targets, size_t target_count, struct err *err)
{
	_cleanup_free_ u64 *size_bytes = calloc(list->count + 1, sizeof(u64));
	struct scan scan = {list, wanted, size_bytes, 0};

	if (!size_bytes)
		return err_errno(err, -ENOMEM, "can't find out who shares the files");
	for (size_t i = 0; i < list->count; i++) {
		struct stat status;

		if (!wanted[i])
			continue;
		scan.open_count++;
		if (fstat(list->items[i].fd, &status) == 0)
			size_bytes[i] = (u64)status.st_size;
	}
	return scan_processes(&scan, targets, target_count, err);
}
