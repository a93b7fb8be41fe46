/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inject/inject_threads.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "inject/inject_filter.h"
#include "inject/inject_stack.h"
#include "inject/inject_wait.h"
#include "process/proc_file.h"
#include "base/cleanup.h"

/* What the order of preference is made of. */
struct candidate {
	struct inject_thread thread;
	const struct inject_wait *wait;
	bool leader;
	enum inject_verdict verdict;
};

struct candidates {
	const struct target *target;
	const struct inject_plan *plan;
	int tasks_fd, memory_fd;
	const char *runs_refused; /* why one that runs is not taken */
	struct candidate *items;
	size_t count;
};

/* "NUMBER 0xARGUMENT ... 0xSP 0xPC", "running", "-1 0xSP 0xPC" */
static bool system_call_parse(const char *text, s64 *ret_number, u64 ret_arguments[6],
			      struct elf_frame *ret_frame)
{
	char *end;

	*ret_number = strtoll(text, &end, 10);
	if (end == text)
		return false;
	for (unsigned i = 0; i < 6; i++)
		ret_arguments[i] = strtoull(end, &end, 16);
	ret_frame->registers[ELF_REGISTER_RSP] = strtoull(end, &end, 16);
	ret_frame->registers[ELF_REGISTER_PC] = strtoull(end, &end, 16);
	ret_frame->known = 1U << ELF_REGISTER_RSP | 1U << ELF_REGISTER_PC;
	return true;
}

static void __attribute__((format(printf, 2, 3)))
unusable(struct candidate *candidate, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(candidate->thread.reason, sizeof(candidate->thread.reason), format, arguments);
	va_end(arguments);
}

/* Without most registers, which only show when the thread is stopped: then its stack is looked at again. */
static void stack_judge(struct candidates *candidates, struct candidate *candidate,
			const struct elf_frame *frame)
{
	char found[INJECT_REASON_BYTES / 2];

	candidate->verdict = inject_stack_judge(candidates->plan->stacks, candidates->memory_fd,
						frame, found, sizeof(found));
	candidate->thread.usable = candidate->verdict != INJECT_VERDICT_UNSAFE;
	snprintf(candidate->thread.reason, sizeof(candidate->thread.reason), "waits in %s%s, %s",
		 candidate->wait->name, candidate->leader ? ", the first thread" : "", found);
}

/* NULL, or why it is not taken in the middle of code. */
static const char *running_refused(const struct candidates *candidates, u32 tid)
{
	int policy = sched_getscheduler((pid_t)tid);

	/* The agent's thread inherits it, and would not run beside one that never waits. */
	if (!candidates->runs_refused && policy >= 0 &&
	    (policy & ~SCHED_RESET_ON_FORK) != SCHED_OTHER &&
	    (policy & ~SCHED_RESET_ON_FORK) != SCHED_BATCH)
		return "its scheduling policy keeps a thread that it makes from running";
	return candidates->runs_refused;
}

/* Where it is shows when it is stopped. */
static void running_judge(struct candidate *candidate, const char *refused)
{
	candidate->thread.runs = true;
	candidate->thread.usable = !refused;
	if (!refused)
		unusable(candidate, "runs, and is taken where it is in code of its own");
	else
		unusable(candidate, "runs%s%s", *refused ? ", and " : "", refused);
}

static void call_judge(struct candidate *candidate, u64 number)
{
	const struct inject_other *other = inject_wait_other(number);

	if (other->name)
		unusable(candidate, "is in %s, %s", other->name, other->why);
	else
		unusable(candidate, "is in system call %llu, %s", (unsigned long long)number,
			 other->why);
}

static void candidate_judge(struct candidates *candidates, struct candidate *candidate,
			    const char *system_call)
{
	struct elf_frame frame = {0};
	u64 arguments[6];
	u32 seccomp = SECCOMP_MODE_DISABLED;
	const char *refused;
	s64 number;

	if (inject_filter_mode(candidates->target->proc_fd, candidate->thread.tid, &seccomp)) {
		unusable(candidate, "has ended");
		return;
	}
	if (seccomp == SECCOMP_MODE_STRICT) {
		unusable(candidate, "has seccomp in strict mode, which kills it at any system call "
				    "but read and write");
		return;
	}
	candidate->thread.filtered = seccomp != SECCOMP_MODE_DISABLED;
	refused = running_refused(candidates, candidate->thread.tid);
	candidate->thread.may_run = !refused;

	if (!system_call_parse(system_call, &number, arguments, &frame)) {
		running_judge(candidate, refused);
		return;
	}
	if (number < 0) {
		unusable(candidate, "is not in a system call");
		return;
	}
	candidate->wait = inject_wait_find((u64)number);
	if (!candidate->wait) {
		call_judge(candidate, (u64)number);
		return;
	}
	candidate->thread.limited = inject_wait_has_limit(candidate->wait, arguments);
	stack_judge(candidates, candidate, &frame);
}

bool inject_thread_runs(const struct target *target, u32 tid)
{
	_cleanup_close_ int tasks_fd =
		openat(target->proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ char *system_call = NULL;
	struct elf_frame frame;
	u64 arguments[6];
	char path[64];
	s64 number;

	snprintf(path, sizeof(path), "%u/syscall", tid);
	return !proc_file_read(tasks_fd, path, &system_call, NULL) &&
	       !system_call_parse(system_call, &number, arguments, &frame);
}

static int candidate_add(struct candidates *candidates, u32 tid)
{
	_cleanup_free_ char *system_call = NULL;
	struct candidate *items;
	char path[64];

	items = reallocarray(candidates->items, candidates->count + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	candidates->items = items;
	items += candidates->count;
	memset(items, 0, sizeof(*items));
	items->thread.tid = tid;
	items->leader = tid == candidates->target->pid;
	proc_comm(tid, items->thread.comm);
	snprintf(path, sizeof(path), "%u/syscall", tid);
	if (proc_file_read(candidates->tasks_fd, path, &system_call, NULL))
		return 0; /* it has ended */
	candidates->count++;
	candidate_judge(candidates, items, system_call);
	return 0;
}

/* No filter of system calls, which may forbid the agent; threads that wait; what the stack says; other threads before the first one, which as a rule does the program's main work; waits
 * without a time limit before others; then by the table of waits. */
static int compare(const void *a, const void *b)
{
	const struct candidate *left = a, *right = b;

	if (left->thread.usable != right->thread.usable)
		return left->thread.usable ? -1 : 1;
	if (left->thread.filtered != right->thread.filtered)
		return left->thread.filtered ? 1 : -1;
	if (left->thread.runs != right->thread.runs)
		return left->thread.runs ? 1 : -1;
	if (left->verdict != right->verdict)
		return left->verdict < right->verdict ? -1 : 1;
	if (left->leader != right->leader)
		return left->leader ? 1 : -1;
	if (left->thread.limited != right->thread.limited)
		return left->thread.limited ? 1 : -1;
	if (left->wait != right->wait)
		return left->wait < right->wait ? -1 : 1;
	return left->thread.tid < right->thread.tid ? -1 : left->thread.tid > right->thread.tid;
}

static int plan_fill(struct inject_plan *plan, const struct candidates *candidates)
{
	struct inject_thread *threads = calloc(candidates->count + 1, sizeof(*threads));

	if (!threads)
		return -ENOMEM;
	free(plan->threads);
	plan->threads = threads;
	plan->usable_count = 0;
	plan->thread_count = candidates->count;
	for (size_t i = 0; i < candidates->count; i++) {
		threads[i] = candidates->items[i].thread;
		plan->usable_count += threads[i].usable;
	}
	return 0;
}

static int candidates_collect(struct candidates *candidates, struct err *err)
{
	const struct target *target = candidates->target;
	int fd = openat(target->proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *tasks = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int result = 0;

	if (!tasks)
		return err_set(err, -ESRCH, "can't look at the threads of %u: it has ended",
			       target->pid);
	candidates->tasks_fd = fd;
	while (!result && (entry = readdir(tasks))) {
		u32 tid = (u32)strtoul(entry->d_name, NULL, 10);

		if (tid)
			result = candidate_add(candidates, tid);
	}
	return result ? err_set(err, result, "out of memory for the threads of %u", target->pid)
		      : 0;
}

int inject_threads_find(const struct target *target, struct inject_plan *plan, struct err *err)
{
	_cleanup_close_ int memory_fd = openat(target->proc_fd, "mem", O_RDONLY | O_CLOEXEC);
	struct candidates candidates = {.target = target, .plan = plan, .memory_fd = memory_fd};
	int result;

	if (memory_fd < 0)
		return err_errno(err, -errno, "can't read the memory of %u", target->pid);
	candidates.runs_refused =
		plan->with_running ? inject_stacks_prepare_code(plan->stacks) : "";
	result = candidates_collect(&candidates, err);
	if (!result) {
		qsort(candidates.items, candidates.count, sizeof(*candidates.items), compare);
		result = plan_fill(plan, &candidates) ? err_set(err, -ENOMEM, "out of memory") : 0;
	}
	free(candidates.items);
	return result;
}
