/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inject/inject.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "elf/elf_vdso.h"
#include "inject/inject_libc.h"
#include "inject/inject_parts.h"
#include "inject/inject_stack.h"
#include "inject/inject_threads.h"
#include "process/cgroup.h"
#include "process/maps.h"
#include "process/memfd_open.h"
#include "process/modules.h"
#include "process/proc_file.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "../gpu/shared.h"

#define AGAIN_NS	 (20 * NS_PER_MILLISECOND)
#define STOPPED_NS	 NS_PER_SECOND
#define STOPPED_AGAIN_NS (2 * NS_PER_MILLISECOND)
#define RUNNING_MS	 3000
#define RUNNING_AFTER_NS \
	(200 * NS_PER_MILLISECOND) /* before that a thread that waits may turn up */
#define ORPHAN_NS	 (200 * NS_PER_MILLISECOND) /* for a thread of an agent to show */
#define MEMFD_PREFIX	 "/memfd:"
#define THREADS_MAX_SAID 3
#define STAT_PARENT	 4
#define STAT_START_STACK 28 /* field of /proc/PID/stat */

static int refuse(const struct target *target, struct err *err, int code, const char *why)
{
	return err_set(err, code, "can't put the agent into %u (%s): %s", target->pid, target->comm,
		       why);
}

/* 0: it goes on. */
static int ask(const struct target *target, const struct inject_waiting *waiting, const char *what,
	       u64 until_ns, struct err *err)
{
	if (!waiting || waiting->goes_on(waiting->data, what, until_ns))
		return 0;
	return err_set(err, -ECANCELED, "it was given up before the agent was put into %u",
		       target->pid);
}

/* ---- the process as a whole ------------------------------------------------------------------------------ */

/* The agent's library is opened by /proc/self/fd. */
static bool sees_proc(const struct target *target)
{
	char path[64];
	struct statfs status;

	snprintf(path, sizeof(path), "%s/proc", target->root_path);
	return !statfs(path, &status) && status.f_type == PROC_SUPER_MAGIC;
}

/* A child of vfork() until it executes a program: what is made in it would be made in its parent. */
static bool shares_memory(const struct target *target)
{
	_cleanup_free_ char *stat = NULL;
	long parent;

	if (proc_file_read(target->proc_fd, "stat", &stat, NULL))
		return false;
	parent = (long)proc_stat_field(stat, STAT_PARENT);
	return parent && !syscall(SYS_kcmp, target->pid, parent, KCMP_VM, 0, 0);
}

static int check_process(const struct target *target, struct err *err)
{
	_cleanup_free_ char *status = NULL;

	if (proc_file_read(target->proc_fd, "status", &status, NULL))
		return refuse(target, err, -ESRCH, "it has ended");
	if (proc_status_has_shadow_stack(status))
		return refuse(
			target, err, -EOPNOTSUPP,
			"its threads have shadow stacks, which a borrowed thread would break");
	if (strncmp(target->comm, "runsc", 5) == 0)
		return refuse(
			target, err, -EOPNOTSUPP,
			"it is gVisor's sandbox, which runs its processes itself; run gpuprobe "
			"in there");
	if (cgroup_is_frozen(target->pid))
		return refuse(target, err, -EOPNOTSUPP,
			      "it is frozen by its cgroup (docker pause, systemctl freeze), so a "
			      "thread of the agent would not run; thaw it first");
	if (shares_memory(target))
		return refuse(target, err, -EOPNOTSUPP,
			      "it shares the memory of its parent, until it executes a program");
	if (!sees_proc(target))
		return refuse(target, err, -EOPNOTSUPP,
			      "it sees no /proc (chroot), through which the library is loaded");
	return 0;
}

/* ---- what an earlier gpuprobe left ------------------------------------------------------------------------- */

/* The later one counts for more. */
enum left { LEFT_NOTHING, LEFT_DEAD, LEFT_LIVES };

/* A ring whose lock nobody holds makes its agent leave; one that is held has a living gpuprobe. */
static enum left ring_look(int directory_fd, const char *name, u32 *ret_tool_pid,
			   u32 *ret_agent_tid)
{
	_cleanup_close_ int fd = -1;
	struct agent_control_fixed fixed;

	if (memfd_open(directory_fd, name, AGENT_MEMFD_RING, &fd))
		return LEFT_NOTHING;
	*ret_tool_pid = *ret_agent_tid = 0;
	if (pread(fd, &fixed, sizeof(fixed), 0) == sizeof(fixed) && fixed.magic == AGENT_MAGIC) {
		*ret_tool_pid = fixed.tool_pid;
		*ret_agent_tid = fixed.agent_tid;
	}
	/* A descendant of our command has inherited it. */
	if (*ret_tool_pid == (u32)getpid())
		return LEFT_NOTHING;
	if (!flock(fd, LOCK_EX | LOCK_NB)) {
		u32 wanted = AGENT_WANTED_LEAVE;

		if (*ret_tool_pid && pwrite(fd, &wanted, sizeof(wanted),
					    offsetof(struct agent_control_fixed, wanted)) < 0)
			return LEFT_DEAD;
		return LEFT_DEAD;
	}
	return LEFT_LIVES;
}

static enum left rings_look(const struct target *target, u32 *ret_tool_pid, u32 *ret_agent_tid)
{
	static const char wanted[] = MEMFD_PREFIX AGENT_MEMFD_RING;
	int fd = openat(target->proc_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	enum left result = LEFT_NOTHING;
	struct dirent *entry;

	while (directory && result != LEFT_LIVES && (entry = readdir(directory))) {
		_cleanup_free_ char *link = NULL;
		enum left found = LEFT_NOTHING;

		if (!proc_link_read(dirfd(directory), entry->d_name, &link) &&
		    strncmp(link, wanted, strlen(wanted)) == 0)
			found = ring_look(dirfd(directory), entry->d_name, ret_tool_pid,
					  ret_agent_tid);
		result = found > result ? found : result;
	}
	return result;
}

static bool is_agent(int tasks_fd, const char *tid, u32 agent_tid)
{
	_cleanup_free_ char *comm = NULL, *status = NULL;
	char path[64];

	snprintf(path, sizeof(path), "%.20s/comm", tid);
	if (!proc_file_read(tasks_fd, path, &comm, NULL) &&
	    strcmp(comm, AGENT_THREAD_NAME "\n") == 0)
		return true;
	/* While it calls CUPTI it has another name (gpu/base/worker_names.h). */
	snprintf(path, sizeof(path), "%.20s/status", tid);
	return agent_tid && !proc_file_read(tasks_fd, path, &status, NULL) &&
	       proc_status_id_in_namespace(status) == agent_tid;
}

/* A ring without one is of nobody: a child that was forked while its parent was recorded has its parent's. */
static bool agent_runs(const struct target *target, u32 agent_tid)
{
	int fd = openat(target->proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *tasks = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	while (tasks && (entry = readdir(tasks)))
		if (entry->d_name[0] != '.' && is_agent(dirfd(tasks), entry->d_name, agent_tid))
			return true;
	return false;
}

static int check_left(const struct target *target, u64 deadline_ns,
		      const struct inject_waiting *waiting, struct err *err)
{
	u64 orphan_ns = clock_monotonic_ns() + ORPHAN_NS;
	int result;

	for (;;) {
		u32 tool_pid = 0, agent_tid = 0;

		switch (rings_look(target, &tool_pid, &agent_tid)) {
		case LEFT_NOTHING:
			return 0;
		case LEFT_LIVES:
			/* Its own agent holds the lock for a moment when it finds itself alone. */
			if (tool_pid && kill((pid_t)tool_pid, 0) && errno == ESRCH)
				break;
			return err_set(err, -EBUSY,
				       "can't put the agent into %u (%s): that of another gpuprobe "
				       "(pid %u) is in it. Wait until it is done.",
				       target->pid, target->comm, tool_pid);
		case LEFT_DEAD:
			if (clock_monotonic_ns() >= orphan_ns && !agent_runs(target, agent_tid))
				return 0;
			break;
		}
		if (clock_monotonic_ns() >= deadline_ns)
			return refuse(target, err, -EBUSY,
				      "the agent of a gpuprobe that was killed has been asked to "
				      "leave, and has not done so yet; try again");
		result = ask(target, waiting, "the agent of a gpuprobe that was killed to leave",
			     deadline_ns, err);
		if (result)
			return result;
		nanosleep(&(struct timespec){0, AGAIN_NS}, NULL);
	}
}

/* Mappings of what earlier agents left, and of the kernel's own code. */
static int maps_look(const struct target *target, struct inject_plan *plan)
{
	_cleanup_free_ char *maps = NULL;
	char *at;
	struct maps_line line;
	u64 last_inode = 0;
	int result = proc_file_read(target->proc_fd, "maps", &maps, NULL);

	if (result)
		return result;
	at = maps;
	while (maps_next(&at, &line)) {
		if (strcmp(line.path, ELF_VDSO_NAME) == 0) {
			plan->vdso_start = line.start;
			plan->vdso_end = line.end;
		}
		if (strncmp(line.path, MEMFD_PREFIX, strlen(MEMFD_PREFIX)) != 0)
			continue;
		if (strstr(line.path, AGENT_MEMFD_RESIDENT))
			plan->resident_page = true;
		if (strstr(line.path, AGENT_MEMFD_LIBRARY) && line.inode != last_inode) {
			plan->agent_libraries++;
			last_inode = line.inode;
		}
	}
	return 0;
}

/* The folder of the process is what all of them have in common, and is there without its having been made. */
int inject_lock(const struct target *target, u32 deadline_ms, const struct inject_waiting *waiting,
		int *ret_lock_fd, struct err *err)
{
	u64 deadline_ns = clock_monotonic_ns() + deadline_ms * NS_PER_MILLISECOND;
	_cleanup_close_ int fd = openat(target->proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int result;

	if (fd < 0)
		return refuse(target, err, -ESRCH, "it has ended");
	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (clock_monotonic_ns() >= deadline_ns)
			return refuse(
				target, err, -EBUSY,
				"another gpuprobe is about to put its agent into it; try again");
		result = ask(target, waiting, "another gpuprobe, which puts its agent in",
			     deadline_ns, err);
		if (result)
			return result;
		nanosleep(&(struct timespec){0, AGAIN_NS}, NULL);
	}
	*ret_lock_fd = take_fd(&fd);
	return 0;
}

/* ---- all of it -------------------------------------------------------------------------------------------- */

static int refuse_threads(const struct target *target, const struct inject_plan *plan,
			  struct err *err)
{
	char why[sizeof(err->message) / 2];
	size_t length = 0;

	why[0] = 0;
	for (size_t i = 0; i < plan->thread_count && i < THREADS_MAX_SAID; i++)
		length += (size_t)snprintf(why + length, sizeof(why) - length, "%s%u %s",
					   i ? "; " : "", plan->threads[i].tid,
					   plan->threads[i].reason);
	return err_set(
		err, -EAGAIN,
		"can't put the agent into %u (%s): none of its %zu threads is safe to borrow: "
		"%s%s",
		target->pid, target->comm, plan->thread_count, why,
		plan->thread_count > THREADS_MAX_SAID ? "; ..." : "");
}

static int threads_wait(const struct target *target, u64 deadline_ns, struct inject_plan *plan,
			struct err *err)
{
	u64 running_ns = clock_monotonic_ns() + RUNNING_AFTER_NS;

	for (;;) {
		int result = inject_threads_find(target, plan, err);

		if (result || plan->usable_count)
			return result;
		if (clock_monotonic_ns() >= deadline_ns && plan->with_running)
			return refuse_threads(target, plan, err);
		plan->with_running =
			clock_monotonic_ns() >= running_ns || clock_monotonic_ns() >= deadline_ns;
		result = ask(target, plan->waiting, INJECT_WAITS_FOR_THREAD, deadline_ns, err);
		if (result)
			return result;
		nanosleep(&(struct timespec){0, AGAIN_NS}, NULL);
	}
}

/* What limits CPU time by signals (cpulimit) stops it for some tens of ms each time. */
static int stop_wait(const struct target *target, u64 deadline_ns,
		     const struct inject_waiting *waiting, struct err *err)
{
	u64 until_ns = clock_monotonic_ns() + STOPPED_NS;

	if (until_ns > deadline_ns)
		until_ns = deadline_ns;
	while (target_is_stopped(target)) {
		int result = ask(target, waiting, "it to go on, which is stopped (SIGSTOP)",
				 until_ns, err);

		if (result)
			return result;
		if (clock_monotonic_ns() >= until_ns)
			return refuse(target, err, -EOPNOTSUPP,
				      "it is stopped (SIGSTOP), so a thread of the agent would not "
				      "run; let it go on (SIGCONT) first");
		nanosleep(&(struct timespec){0, STOPPED_AGAIN_NS}, NULL);
	}
	return 0;
}

static int plan_make(const struct target *target, u64 deadline_ns, struct inject_plan *plan,
		     struct err *err)
{
	struct module_list modules;
	int result = check_process(target, err);

	if (!result)
		result = stop_wait(target, deadline_ns, plan->waiting, err);
	if (!result)
		result = check_left(target, deadline_ns, plan->waiting, err);
	if (result)
		return result;
	result = modules_load(target, 1, &modules, err);
	if (result)
		return result;
	result = inject_libc_find(&modules, plan, err);
	if (result)
		err_prefix(err, "can't put the agent into %u (%s)", target->pid, target->comm);
	else if (maps_look(target, plan))
		result = refuse(target, err, -ESRCH, "it has ended");
	if (result) {
		modules_free(&modules);
		return result;
	}
	if (inject_stacks_open(&modules, plan->vdso_start, plan->vdso_end, &plan->stacks))
		return err_set(err, -ENOMEM, "out of memory");
	return threads_wait(target, deadline_ns, plan, err);
}

/* The bytes that the kernel gives a program when it starts, from which libcs make their secrets. */
static u64 random_bytes(const struct target *target)
{
	_cleanup_close_ int memory_fd = openat(target->proc_fd, "mem", O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *content = NULL;
	const Elf64_auxv_t *entry;
	size_t size;
	u64 bytes = 0;

	if (proc_file_read(target->proc_fd, "auxv", &content, &size))
		return 0;
	entry = (const Elf64_auxv_t *)content;
	for (size_t i = 0; i < size / sizeof(*entry); i++)
		if (entry[i].a_type == AT_RANDOM &&
		    pread(memory_fd, &bytes, sizeof(bytes), (off_t)entry[i].a_un.a_val) !=
			    sizeof(bytes))
			return 0;
	return bytes;
}

u64 inject_image(const struct target *target)
{
	_cleanup_free_ char *stat = NULL;

	if (proc_file_read(target->proc_fd, "stat", &stat, NULL))
		return 0;
	return proc_stat_field(stat, STAT_START_STACK) ^ random_bytes(target);
}

int inject_plan(const struct target *target, u32 deadline_ms, const struct inject_waiting *waiting,
		struct inject_plan *ret_plan, struct err *err)
{
	u64 deadline_ns = clock_monotonic_ns() + deadline_ms * NS_PER_MILLISECOND;
	struct inject_plan plan = {.pid = target->pid,
				   .image = inject_image(target),
				   .running_ms = RUNNING_MS,
				   .waiting = waiting};
	int result = plan_make(target, deadline_ns, &plan, err);

	if (result) {
		inject_plan_free(&plan);
		return result;
	}
	*ret_plan = plan;
	return 0;
}

void inject_plan_free(struct inject_plan *plan)
{
	plan->stacks = inject_stacks_free(plan->stacks);
	free(plan->threads);
	plan->threads = NULL;
	plan->thread_count = plan->usable_count = 0;
}
