/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/process_audit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "process/maps.h"
#include "process/proc_file.h"
#include "base/cleanup.h"

#define NEW_MAX 8 /* that are named */

/* ---- what a folder of /proc/PID has ---- */

typedef bool (*entry_is_own)(const struct process_own *own, int directory_fd, const char *name);
/* What its name is there; the caller frees. -errno: it has gone meanwhile. */
typedef int (*entry_name)(int directory_fd, const char *name, char **ret_name);

struct folder {
	const char *path;
	enum holding_sort sort;
	entry_is_own is_own;
	entry_name name;
};

static int add_entry(const struct folder *folder, int directory_fd, const char *entry,
		     struct process_holdings *holdings)
{
	_cleanup_free_ char *name = NULL;

	if (folder->name(directory_fd, entry, &name))
		return 0;
	return process_holdings_add(holdings, folder->sort, strtoull(entry, NULL, 10), 0, name);
}

static int count_entries(int proc_fd, const struct folder *folder, const struct process_own *own,
			 struct process_holdings *holdings, size_t *ret_count,
			 size_t *ret_own_count)
{
	_cleanup_closedir_ DIR *directory = NULL;
	size_t count = 0, own_count = 0;
	struct dirent *entry;
	int fd = openat(proc_fd, folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), result = 0;

	if (fd < 0)
		return -errno;
	directory = fdopendir(fd);
	if (!directory) {
		close(fd);
		return -ENOMEM;
	}
	while (!result && (entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		count++;
		own_count += own && folder->is_own(own, fd, entry->d_name);
		result = add_entry(folder, fd, entry->d_name, holdings);
	}
	*ret_count = count;
	*ret_own_count = own_count;
	return result;
}

static int thread_name(int directory_fd, const char *entry, char **ret_name)
{
	char path[64];
	size_t size;
	int result;

	snprintf(path, sizeof(path), "%.32s/comm", entry);
	result = proc_file_read(directory_fd, path, ret_name, &size);
	if (!result)
		(*ret_name)[strcspn(*ret_name, "\n")] = '\0';
	return result;
}

static bool thread_is_own(const struct process_own *own, int directory_fd, const char *name)
{
	(void)directory_fd;
	return own->tid && strtoul(name, NULL, 10) == own->tid;
}

static bool file_is_own(const struct process_own *own, dev_t device, ino_t inode)
{
	return inode && device == own->device &&
	       (inode == own->ring_inode || inode == own->library_inode);
}

static bool fd_is_own(const struct process_own *own, int directory_fd, const char *name)
{
	struct stat status;

	return !fstatat(directory_fd, name, &status, 0) &&
	       file_is_own(own, status.st_dev, status.st_ino);
}

static bool is_resident(const struct process_own *own, const struct maps_line *line)
{
	static const char prefix[] = "/memfd:";

	return own->resident_memfd && line->device == own->device &&
	       !strncmp(line->path, prefix, strlen(prefix)) &&
	       !strncmp(line->path + strlen(prefix), own->resident_memfd,
			strlen(own->resident_memfd));
}

static int count_mappings(int proc_fd, const struct process_own *own, struct process_audit *audit)
{
	_cleanup_free_ char *maps = NULL;
	struct maps_line line;
	size_t size;
	char *text;
	int result = proc_file_read(proc_fd, "maps", &maps, &size);

	if (result)
		return result;
	text = maps;
	while (maps_next(&text, &line)) {
		result = process_holdings_add(&audit->holdings, HOLDING_MAPPINGS, 0,
					      line.end - line.start, line.path);
		if (result)
			return result;
		audit->mapping_count++;
		audit->executable_mapping_count += line.executable;
		audit->own_mapping_count += own && file_is_own(own, line.device, line.inode);
		audit->resident_mapping_count += own && is_resident(own, &line);
	}
	return 0;
}

int process_audit_take(u32 pid, const struct process_own *own, struct process_audit *ret_audit,
		       struct err *err)
{
	static const struct folder threads = {"task", HOLDING_THREAD, thread_is_own, thread_name};
	static const struct folder descriptors = {"fd", HOLDING_DESCRIPTOR, fd_is_own,
						  proc_link_read};
	_cleanup_process_audit_ struct process_audit audit = {0};
	_cleanup_close_ int proc_fd = -1;
	char path[32];
	int result = 0;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc_fd < 0)
		result = -errno;
	if (!result)
		result = count_entries(proc_fd, &threads, own, &audit.holdings, &audit.thread_count,
				       &audit.own_thread_count);
	if (!result)
		result = count_entries(proc_fd, &descriptors, own, &audit.holdings, &audit.fd_count,
				       &audit.own_fd_count);
	if (!result)
		result = count_mappings(proc_fd, own, &audit);
	if (result == -ENOENT)
		result = -ESRCH;
	if (result)
		return err_errno(err, result, "can't look at what process %u has", pid);
	*ret_audit = audit;
	audit.holdings = (struct process_holdings){0};
	return 0;
}

void process_audit_free(struct process_audit *audit)
{
	process_holdings_free(&audit->holdings);
}

static void compare(struct text *text, const char *what, size_t before, size_t after)
{
	text_appendf(text, "%s %zu %s %zu", what, before, before == after ? "=" : "->", after);
}

void process_audit_compare(const struct process_audit *before, const struct process_audit *after,
			   struct text *text)
{
	_cleanup_text_ struct text news = {0};
	size_t own_mapping_count;

	compare(text, "threads", before->thread_count, after->thread_count);
	compare(text, ", descriptors", before->fd_count, after->fd_count);
	compare(text, ", mappings", before->mapping_count, after->mapping_count);
	compare(text, " (code", before->executable_mapping_count, after->executable_mapping_count);
	text_append(text, "), ours left: ");
	own_mapping_count = after->own_mapping_count + after->resident_mapping_count;
	if (!after->own_thread_count && !after->own_fd_count && !own_mapping_count)
		text_append(text, "none");
	else
		text_appendf(text, "%zu threads, %zu descriptors, %zu mappings",
			     after->own_thread_count, after->own_fd_count, own_mapping_count);
	process_holdings_new(&before->holdings, &after->holdings, NEW_MAX, &news);
	if (news.length)
		text_appendf(text, "; new: %s", text_string(&news));
}
