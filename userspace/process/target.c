/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "process/maps.h"
#include "process/proc_file.h"
#include "process/translators.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/path.h"

#define KERNEL_THREAD_FLAG 0x00200000 /* PF_KTHREAD, in field 9 of /proc/PID/stat */

enum stat_field { STAT_FLAGS = 9, STAT_START_TIME = 22 };

static int refuse(struct err *err, int code, u32 pid, const char *why)
{
	return err_set(err, code, "can't attach to %u: %s", pid, why);
}

static int refuse_permission(struct err *err, u32 pid, const char *file)
{
	return err_set(err, -EPERM,
		       "can't attach to %u: not permitted to read /proc/%u/%s, which takes "
		       "CAP_SYS_PTRACE. "
		       "Run gpuprobe with sudo.",
		       pid, pid, file);
}

/* Whom a file system refuses may be root: FUSE lets nobody in but the user who mounted it. */
static int refuse_executable(struct err *err, const struct target *target, const char *link)
{
	char path[64];
	struct statfs file_system;
	bool fuse;

	if (geteuid())
		return refuse_permission(err, target->pid, "exe");
	snprintf(path, sizeof(path), "/proc/%u/exe", target->pid);
	fuse = !statfs(path, &file_system) && file_system.f_type == FUSE_SUPER_MAGIC;
	return err_set(err, -EACCES, "can't attach to %u: root is refused its executable %s: %s",
		       target->pid, link,
		       fuse ? "its file system (FUSE) lets nobody in but the user who mounted it. "
			      "Mount it with -o allow_root or allow_other, or start the program "
			      "from another file system."
			    : "its file system does, or a security module. Start the program from "
			      "another file system.");
}

/* A zombie, or past that. */
static bool has_ended(const char *stat)
{
	const char *state = strrchr(stat, ')');

	return state && state[1] && (state[2] == 'Z' || state[2] == 'X');
}

bool target_thread_lives(u32 pid, u32 thread)
{
	_cleanup_free_ char *stat = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u/stat", pid, thread);
	return !proc_file_read(AT_FDCWD, path, &stat, NULL) && !has_ended(stat);
}

u32 target_living_thread(u32 pid, u32 except)
{
	_cleanup_closedir_ DIR *tasks = NULL;
	char path[64];
	struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		u32 tid = (u32)strtoul(entry->d_name, NULL, 10);

		if (tid && tid != except && target_thread_lives(pid, tid))
			return tid;
	}
	return 0;
}

/* What the kernel shows of the process by its number has gone with its first thread: memory, files,
 * namespaces. By the number of another thread it is all there. */
static int open_by_other_thread(struct target *target)
{
	_cleanup_free_ char *status = NULL;
	u32 thread = target_living_thread(target->pid, 0);
	char path[32];
	u64 process;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u", thread);
	fd = thread ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd < 0)
		return -ESRCH;
	cleanup_close(&target->proc_fd);
	target->proc_fd = fd;
	if (proc_file_read(fd, "status", &status, NULL) ||
	    !proc_status_number(status, "Tgid", 10, &process) || process != target->pid)
		return -ESRCH;
	snprintf(target->root_path, sizeof(target->root_path), "/proc/%u/root", thread);
	target->thread = thread;
	target->first_thread_ended = true;
	return 0;
}

static int check_state(struct target *target, const char *status, const char *stat, struct err *err)
{
	u32 pid = target->pid;
	u64 process;

	if (proc_status_number(status, "Tgid", 10, &process) && process != pid)
		return err_set(
			err, -EINVAL,
			"can't attach to %u: it is a thread of process %llu. Use -p %llu; all its "
			"threads are recorded.",
			pid, (unsigned long long)process, (unsigned long long)process);
	if (proc_stat_field(stat, STAT_FLAGS) & KERNEL_THREAD_FLAG)
		return err_set(err, -EINVAL,
			       "can't attach to %u: it is a kernel thread (%s), which has no code "
			       "of its own",
			       pid, target->comm);
	if (has_ended(stat) && open_by_other_thread(target))
		return refuse(err, -ESRCH, pid,
			      "it is a zombie: it has ended, only its parent has not taken note");
	return 0;
}

static int check_tracer(const struct target *target, bool traced_by_us, struct err *err)
{
	_cleanup_free_ char *status = NULL;
	char comm[16];
	u32 pid = target->pid;
	u64 tracer;

	if (traced_by_us || proc_file_read(target->proc_fd, "status", &status, NULL) ||
	    !proc_status_number(status, "TracerPid", 10, &tracer) || !tracer)
		return 0;
	proc_comm((u32)tracer, comm);
	return err_set(err, -EBUSY,
		       "can't attach to %u: %s (%llu) is tracing it, and a debugger's breakpoints "
		       "and ours "
		       "would overwrite each other. Detach it first.",
		       pid, comm, (unsigned long long)tracer);
}

static int read_executable(struct target *target, struct err *err)
{
	_cleanup_free_ char *link = NULL, *root = NULL;
	_cleanup_close_ int fd = -1;
	bool deleted;
	u32 pid = target->pid;
	struct stat status;
	Elf64_Ehdr header;
	int result = proc_link_read(target->proc_fd, "exe", &link);

	if (result == -EACCES || result == -EPERM)
		return refuse_permission(err, pid, "exe");
	if (result)
		return refuse(err, -ESRCH, pid, "it is ending");
	fd = openat(target->proc_fd, "exe", O_RDONLY | O_CLOEXEC);
	if (fd < 0 && (errno == EACCES || errno == EPERM))
		return refuse_executable(err, target, link);
	if (fd < 0 || fstat(fd, &status) < 0)
		return err_errno(err, -errno, "can't attach to %u: can't open its executable %s",
				 pid, link);
	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return err_set(err, -ENOEXEC,
			       "can't attach to %u: its executable %s is not an ELF file", pid,
			       link);
	if (header.e_ident[EI_CLASS] == ELFCLASS32)
		return refuse(err, -ENOEXEC, pid,
			      "it is a 32-bit process. Only 64-bit targets are supported.");
	if (header.e_machine != EM_X86_64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
		return err_set(
			err, -ENOEXEC,
			"can't attach to %u: its executable %s is built for another processor (ELF "
			"machine %u). Only x86-64 targets are supported.",
			pid, link, header.e_machine);
	/* A chroot is part of the path as we see it, not as the target does. */
	if (proc_link_read(target->proc_fd, "root", &root))
		root = NULL;
	target->executable = path_from_proc(link, root ? root : "", &deleted);
	target->executable_deleted = deleted || status.st_nlink == 0;
	return target->executable ? 0 : err_errno(err, -ENOMEM, "can't attach to %u", pid);
}

/* By its executable, or by what it maps. */
static int check_translated(const struct target *target, struct err *err)
{
	const char *who = translator_of_file(target->executable);
	_cleanup_free_ char *text = NULL;
	struct maps_line line;
	char *rest;

	if (!who && !proc_file_read(target->proc_fd, "maps", &text, NULL))
		for (rest = text; !who && maps_next(&rest, &line);)
			who = line.inode ? translator_of_file(line.path) : NULL;
	if (!who)
		return 0;
	return err_set(err, -EBUSY,
		       "can't attach to %u: %s runs a translated copy of its code, where probes "
		       "would kill it or never be hit. Run it without %s.",
		       target->pid, who, who);
}

static void read_namespaces(struct target *target, const char *status)
{
	u32 id = proc_status_id_in_namespace(status);
	u64 own = proc_inode(AT_FDCWD, "/proc/self/ns/mnt");
	u64 theirs = proc_inode(target->proc_fd, "ns/mnt");

	target->other_mount_namespace = own && theirs && own != theirs;
	own = proc_inode(AT_FDCWD, "/proc/self/ns/pid");
	theirs = proc_inode(target->proc_fd, "ns/pid");
	target->other_pid_namespace = own && theirs && own != theirs;
	target->pid_in_namespace = id ? id : target->pid;
}

static int read_all(struct target *target, bool traced_by_us, struct err *err)
{
	_cleanup_free_ char *status = NULL, *stat = NULL, *comm = NULL;
	int result;

	/* Through proc_fd: this fails when the process has gone, also when its number is in use
	 * again. So once it works, the pidfd opened before it is of the same process. */
	if (proc_file_read(target->proc_fd, "status", &status, NULL) ||
	    proc_file_read(target->proc_fd, "stat", &stat, NULL) ||
	    proc_file_read(target->proc_fd, "comm", &comm, NULL))
		return refuse(err, -ESRCH, target->pid, "no such process");
	snprintf(target->comm, sizeof(target->comm), "%.*s", (int)strcspn(comm, "\n"), comm);
	target->start_time_ticks = proc_stat_field(stat, STAT_START_TIME);
	result = check_state(target, status, stat, err);
	if (result)
		return result;
	if (target->pidfd < 0)
		return err_errno(err, target->pidfd, "can't attach to %u", target->pid);
	result = check_tracer(target, traced_by_us, err);
	if (result)
		return result;
	read_namespaces(target, status);
	result = read_executable(target, err);
	return result ? result : check_translated(target, err);
}

int target_open(u32 pid, bool traced_by_us, struct target *ret_target, struct err *err)
{
	struct target target = {.pid = pid, .thread = pid, .pidfd = -1, .proc_fd = -1};
	char path[32];
	int result;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	snprintf(target.root_path, sizeof(target.root_path), "/proc/%u/root", pid);
	target.proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (target.proc_fd < 0 && errno == ENOENT)
		return refuse(err, -ESRCH, pid, "no such process");
	if (target.proc_fd < 0)
		return err_errno(err, -errno, "can't attach to %u: can't open %s", pid, path);
	target.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (target.pidfd < 0)
		target.pidfd = -errno;
	result = read_all(&target, traced_by_us, err);
	if (result) {
		target_close(&target);
		return result;
	}
	*ret_target = target;
	return 0;
}

void target_close(struct target *target)
{
	cleanup_close(&target->pidfd);
	cleanup_close(&target->proc_fd);
	free(target->executable);
	*target = (struct target){.pidfd = -1, .proc_fd = -1};
}

const struct target *target_find(const struct target *targets, size_t target_count, u32 pid)
{
	for (size_t i = 0; i < target_count; i++)
		if (targets[i].pid == pid)
			return &targets[i];
	return NULL;
}

/* As ps shows it: R, S, D, T, Z, ...; 0 when the process is gone. */
static char state_of(const struct target *target)
{
	_cleanup_free_ char *stat = NULL;
	const char *end;

	if (proc_file_read(target->proc_fd, "stat", &stat, NULL))
		return 0;
	end = strrchr(stat, ')');
	return end && end[1] ? end[2] : 0;
}

bool target_is_gone(const struct target *target)
{
	struct pollfd poll_fd = {.fd = target->pidfd, .events = POLLIN};

	return poll(&poll_fd, 1, 0) != 0;
}

bool target_is_stopped(const struct target *target)
{
	return state_of(target) == 'T';
}

u64 target_cpu_time_ns(const struct target *target)
{
	clockid_t clock;

	/* To the nanosecond; /proc/PID/stat counts in hundredths of a second. */
	if (target_is_gone(target) || clock_getcpuclockid(target->pid, &clock))
		return 0;
	return clock_read_ns(clock);
}
