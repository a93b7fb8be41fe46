#include "attach/inject_threads.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "attach/inject_wait.h"
#include "attach/proc_file.h"
#include "base/cleanup.h"

/* What the order of preference is made of. */
struct candidate {
	struct inject_thread thread;
	const struct inject_wait *wait;
	bool leader, limited;
};

struct candidates {
	struct candidate *items;
	size_t count;
};

/* "NUMBER 0xARGUMENT ... 0xSP 0xPC", "running", "-1 0xSP 0xPC" */
static bool system_call_parse(const char *text, s64 *ret_number, u64 ret_arguments[6])
{
	char *end;

	*ret_number = strtoll(text, &end, 10);
	if (end == text)
		return false;
	for (unsigned i = 0; i < 6; i++)
		ret_arguments[i] = strtoull(end, &end, 16);
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

static void candidate_judge(struct candidate *candidate, const char *system_call,
			    const struct inject_plan *plan)
{
	u64 arguments[6];
	s64 number;

	if (!system_call_parse(system_call, &number, arguments)) {
		unusable(candidate, "runs");
		return;
	}
	if (number < 0) {
		unusable(candidate, "is not in a system call");
		return;
	}
	candidate->wait = inject_wait_find((u64)number);
	if (!candidate->wait) {
		unusable(candidate,
			 "is in system call %lld, which may not be one that can be repeated",
			 (long long)number);
		return;
	}
	candidate->limited = inject_wait_has_limit(candidate->wait, arguments);
	if (plan->filtered && candidate->limited) {
		unusable(candidate,
			 "waits in %s with a time limit, which goes on by restart_syscall, and its "
			 "system call filter (seccomp) may forbid that",
			 candidate->wait->name);
		return;
	}
	candidate->thread.usable = true;
	snprintf(candidate->thread.reason, sizeof(candidate->thread.reason), "waits in %s%s",
		 candidate->wait->name, candidate->leader ? ", the first thread" : "");
}

static int candidate_add(struct candidates *candidates, int tasks_fd, const struct target *target,
			 const struct inject_plan *plan, u32 tid)
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
	items->leader = tid == target->pid;
	proc_comm(tid, items->thread.comm);
	snprintf(path, sizeof(path), "%u/syscall", tid);
	if (proc_file_read(tasks_fd, path, &system_call, NULL))
		return 0; /* it has ended */
	candidates->count++;
	candidate_judge(items, system_call, plan);
	return 0;
}

/* Other threads before the first one, which as a rule does the program's main work; waits without a time limit
 * before others; then by the table of waits. */
static int compare(const void *a, const void *b)
{
	const struct candidate *left = a, *right = b;

	if (left->thread.usable != right->thread.usable)
		return left->thread.usable ? -1 : 1;
	if (left->leader != right->leader)
		return left->leader ? 1 : -1;
	if (left->limited != right->limited)
		return left->limited ? 1 : -1;
	if (left->wait != right->wait)
		return left->wait < right->wait ? -1 : 1;
	return left->thread.tid < right->thread.tid ? -1 : left->thread.tid > right->thread.tid;
}

static int plan_fill(struct inject_plan *plan, const struct candidates *candidates)
{
	struct inject_thread *threads = calloc(candidates->count + 1, sizeof(*threads));

	if (!threads)
		return -ENOMEM;
	inject_plan_free(plan);
	plan->threads = threads;
	plan->thread_count = candidates->count;
	for (size_t i = 0; i < candidates->count; i++) {
		threads[i] = candidates->items[i].thread;
		plan->usable_count += threads[i].usable;
	}
	return 0;
}

int inject_threads_find(const struct target *target, const struct module_list *modules,
			struct inject_plan *plan, struct err *err)
{
	int fd = openat(target->proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *tasks = fd < 0 ? NULL : fdopendir(fd);
	struct candidates candidates = {0};
	struct dirent *entry;
	int result = 0;

	if (!tasks)
		return err_set(err, -ESRCH, "can't look at the threads of %u: it has ended",
			       target->pid);
	while (!result && (entry = readdir(tasks))) {
		u32 tid = (u32)strtoul(entry->d_name, NULL, 10);

		if (tid)
			result = candidate_add(&candidates, dirfd(tasks), target, plan, tid);
	}
	if (!result) {
		qsort(candidates.items, candidates.count, sizeof(*candidates.items), compare);
		result = plan_fill(plan, &candidates);
	}
	free(candidates.items);
	return result ? err_set(err, result, "out of memory for the threads of %u", target->pid)
		      : 0;
}
