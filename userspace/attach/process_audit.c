#include "attach/process_audit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "attach/maps.h"
#include "attach/proc_file.h"
#include "base/cleanup.h"

static bool begins_with(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

/* As /proc shows a memfd. A file of the target's whose path contains our name is not ours. */
static bool is_own_path(const char *path)
{
	return begins_with(path, "/memfd:" PROCESS_AUDIT_OWN_PREFIX);
}

/* ---- what a folder of /proc/PID has ---- */

typedef bool (*entry_is_own)(int directory_fd, const char *name);

static int count_entries(int proc_fd, const char *folder, entry_is_own entry_own, size_t *ret_count,
			 size_t *ret_own_count)
{
	_cleanup_closedir_ DIR *directory = NULL;
	size_t count = 0, own_count = 0;
	struct dirent *entry;
	int fd = openat(proc_fd, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	directory = fdopendir(fd);
	if (!directory) {
		close(fd);
		return -ENOMEM;
	}
	while ((entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		count++;
		own_count += entry_own(fd, entry->d_name);
	}
	*ret_count = count;
	*ret_own_count = own_count;
	return 0;
}

static bool thread_is_own(int directory_fd, const char *name)
{
	_cleanup_free_ char *comm = NULL;
	char path[64];
	size_t size;

	snprintf(path, sizeof(path), "%.32s/comm", name);
	return !proc_file_read(directory_fd, path, &comm, &size) &&
	       begins_with(comm, PROCESS_AUDIT_OWN_PREFIX);
}

static bool fd_is_own(int directory_fd, const char *name)
{
	_cleanup_free_ char *link = NULL;

	return !proc_link_read(directory_fd, name, &link) && is_own_path(link);
}

static int count_mappings(int proc_fd, struct process_audit *audit)
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
		audit->mapping_count++;
		audit->executable_mapping_count += line.executable;
		audit->own_mapping_count += is_own_path(line.path);
	}
	return 0;
}

int process_audit_take(u32 pid, struct process_audit *ret_audit, struct err *err)
{
	struct process_audit audit = {0};
	_cleanup_close_ int proc_fd = -1;
	char path[32];
	int result = 0;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc_fd < 0)
		result = -errno;
	if (!result)
		result = count_entries(proc_fd, "task", thread_is_own, &audit.thread_count,
				       &audit.own_thread_count);
	if (!result)
		result = count_entries(proc_fd, "fd", fd_is_own, &audit.fd_count,
				       &audit.own_fd_count);
	if (!result)
		result = count_mappings(proc_fd, &audit);
	if (result == -ENOENT)
		result = -ESRCH;
	if (result)
		return err_errno(err, result, "can't look at what process %u has", pid);
	*ret_audit = audit;
	return 0;
}

static void compare(struct text *text, const char *what, size_t before, size_t after)
{
	text_appendf(text, "%s %zu %s %zu", what, before, before == after ? "=" : "->", after);
}

bool process_audit_own(const struct process_audit *audit)
{
	return audit->own_thread_count || audit->own_fd_count || audit->own_mapping_count;
}

void process_audit_compare(const struct process_audit *before, const struct process_audit *after,
			   struct text *text)
{
	compare(text, "threads", before->thread_count, after->thread_count);
	compare(text, ", descriptors", before->fd_count, after->fd_count);
	compare(text, ", mappings", before->mapping_count, after->mapping_count);
	compare(text, " (code", before->executable_mapping_count, after->executable_mapping_count);
	text_append(text, "), ours left: ");
	if (!process_audit_own(after))
		text_append(text, "none");
	else
		text_appendf(text, "%zu threads, %zu descriptors, %zu mappings",
			     after->own_thread_count, after->own_fd_count,
			     after->own_mapping_count);
}
