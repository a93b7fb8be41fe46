/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Puts a library into a process and has it leave, as gpuprobe does: linked with libgpuprobe.a.
 *
 *	inject_driver plan PID
 *	inject_driver cycle PID LIBRARY COUNT [DEADLINE_MS]	in and out, COUNT times
 *	inject_driver hold PID LIBRARY				in; out at the end of standard input
 *	inject_driver late PID LIBRARY				plans; in after a line on standard input, and out
 *	inject_driver signal PID LIBRARY CALL NUMBER		in and out; sends that signal at its CALLth call of ptrace
 *	inject_driver freeze PID LIBRARY CALL FILE TEXT		in, where that can be; writes TEXT to FILE at its CALLth call of ptrace; stays until
 *								the end of standard input
 *	inject_driver die PID LIBRARY CALL before|after|prepare	in; killed at its CALLth call of ptrace
 *	inject_driver give_up PID LIBRARY CALL NS		in; given up at its CALLth call of ptrace, so many ns ago; and out, if it was in
 *	inject_driver asked PID LIBRARY MS			in; given up when it is asked after so many ms; what was waited for
 *
 * One line a step; exit status 0: as wanted, 1: refused or failed, with the reason.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/inject.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "gpu/shared.h"

#define RING_BYTES	     (AGENT_CONTROL_BYTES + 2 * AGENT_CHUNK_BYTES)
#define LEAVE_NS	     (10 * NS_PER_SECOND)
#define DEADLINE_MS	     5000
#define GIVEN_UP_DEADLINE_MS 600000

static unsigned long die_at, calls, stops;
static bool die_before, die_in_prepare;
static unsigned long signal_at;
static int signal_number;
static pid_t signal_pid;
static unsigned long freeze_at;
static const char *freeze_file, *freeze_text;
static unsigned long give_up_at;
static u64 *given_up_ns, given_up_ago_ns;

static void freeze(void)
{
	int fd = open(freeze_file, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, freeze_text, strlen(freeze_text)) < 0)
		_exit(2);
	close(fd);
	nanosleep(&(struct timespec){0, 10000000}, NULL);
}

/* All calls of libgpuprobe.a come by here. */
long ptrace(enum __ptrace_request request, ...)
{
	va_list list;
	long result;

	va_start(list, request);
	pid_t pid = va_arg(list, pid_t);
	void *address = va_arg(list, void *), *data = va_arg(list, void *);
	va_end(list);
	calls++;
	stops += request == PTRACE_SEIZE;
	if (calls == signal_at) {
		kill(signal_pid, signal_number);
		nanosleep(&(struct timespec){0, 10000000}, NULL);
	}
	if (calls == freeze_at)
		freeze();
	if (calls == give_up_at)
		__atomic_store_n(given_up_ns, clock_monotonic_ns() - given_up_ago_ns,
				 __ATOMIC_RELEASE);
	if (calls == die_at && die_before)
		raise(SIGKILL);
	result = syscall(SYS_ptrace, request, pid, address, data);
	if (calls == die_at)
		raise(SIGKILL);
	return result;
}

static void prepare(void *data, void *shared)
{
	struct agent_control_fixed *fixed = shared;

	fixed->magic = AGENT_MAGIC;
	fixed->fixed_bytes = sizeof(*fixed);
	fixed->total_bytes = RING_BYTES;
	fixed->tool_pid = (u32)getpid();
	if (die_in_prepare)
		raise(SIGKILL);
}

struct library {
	void *bytes;
	size_t size;
};

static struct library library_read(const char *path)
{
	struct library library = {0};
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &status)) {
		perror(path);
		exit(2);
	}
	library.size = (size_t)status.st_size;
	library.bytes = mmap(NULL, library.size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	return library;
}

static int fail(const char *what, const struct err *err)
{
	printf("%s failed: %d: %s\n", what, err->code, err->message);
	return 1;
}

static int plan_print(const struct target *target)
{
	struct inject_plan plan;
	struct err err = {0};

	if (inject_plan(target, 200, NULL, &plan, &err))
		return fail("plan", &err);
	printf("libc %s %s\n", plan.libc_path, plan.libc_version);
	for (size_t i = 0; i < plan.thread_count; i++)
		printf("%s %u %s: %s\n", plan.threads[i].usable ? "usable" : "no",
		       plan.threads[i].tid, plan.threads[i].comm, plan.threads[i].reason);
	inject_plan_free(&plan);
	return 0;
}

static int enter(const struct target *target, struct inject_plan *plan, struct library library,
		 u32 deadline_ms, struct injection *injection)
{
	struct err err = {0};

	if (inject_run(target, plan, library.bytes, library.size, RING_BYTES, prepare, NULL,
		       deadline_ms, injection, &err))
		return fail("run", &err);
	return 0;
}

/* Until the agent, its thread and its pages are gone. */
static int leave(const struct target *target, const struct injection *injection)
{
	u64 deadline_ns = clock_monotonic_ns() + LEAVE_NS;
	struct agent_control_fixed *fixed = mmap(NULL, AGENT_CONTROL_BYTES, PROT_READ | PROT_WRITE,
						 MAP_SHARED, injection->ring_fd, 0);
	u32 state = AGENT_STATE_NONE;

	if (fixed == MAP_FAILED)
		return 1;
	while (clock_monotonic_ns() < deadline_ns) {
		state = __atomic_load_n(&fixed->state, __ATOMIC_ACQUIRE);
		if (state == AGENT_STATE_READY)
			__atomic_store_n(&fixed->wanted, AGENT_WANTED_LEAVE, __ATOMIC_RELEASE);
		if (state == AGENT_STATE_GONE &&
		    !target_thread_lives(target->pid, injection->own.tid))
			break;
		if (target_is_gone(target))
			break;
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	}
	munmap(fixed, AGENT_CONTROL_BYTES);
	close(injection->ring_fd);
	if (state == AGENT_STATE_GONE)
		return 0;
	printf("leave failed: state %u\n", state);
	return 1;
}

static int cycle(const struct target *target, struct library library, unsigned long count,
		 u32 deadline_ms)
{
	u64 longest_ns = 0;
	struct inject_plan plan;
	struct err err = {0};

	if (inject_plan(target, deadline_ms, NULL, &plan, &err))
		return fail("plan", &err);
	for (unsigned long i = 0; i < count; i++) {
		struct injection injection;
		u64 start_ns = clock_monotonic_ns();

		if (enter(target, &plan, library, deadline_ms, &injection)) {
			printf("stops %lu\n", stops);
			return 1;
		}
		if (clock_monotonic_ns() - start_ns > longest_ns)
			longest_ns = clock_monotonic_ns() - start_ns;
		if (leave(target, &injection))
			return 1;
	}
	inject_plan_free(&plan);
	printf("cycles %lu, longest %llu us, ptrace %lu, stops %lu\n", count,
	       (unsigned long long)longest_ns / 1000, calls, stops);
	return 0;
}

static int hold(const struct target *target, struct library library)
{
	struct injection injection;
	struct inject_plan plan;
	struct err err = {0};
	char byte;

	if (inject_plan(target, DEADLINE_MS, NULL, &plan, &err))
		return fail("plan", &err);
	if (enter(target, &plan, library, DEADLINE_MS, &injection))
		return 1;
	inject_plan_free(&plan);
	printf("in %u\n", injection.own.tid);
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return leave(target, &injection);
}

/* The target is frozen by its cgroup in the midst of it. */
static int frozen(const struct target *target, struct library library)
{
	struct injection injection;
	struct inject_plan plan;
	struct err err = {0};
	int result;
	char byte;

	if (inject_plan(target, DEADLINE_MS, NULL, &plan, &err))
		return fail("plan", &err);
	result = enter(target, &plan, library, 1000, &injection);
	inject_plan_free(&plan);
	printf("%s\n", calls < freeze_at ? "not so far" : "done");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	if (!result)
		result = leave(target, &injection);
	return result;
}

/* What may the target do between the plan and the injection? */
static int late(const struct target *target, struct library library)
{
	struct injection injection;
	struct inject_plan plan;
	struct err err = {0};
	char byte;

	if (inject_plan(target, DEADLINE_MS, NULL, &plan, &err))
		return fail("plan", &err);
	printf("planned\n");
	fflush(stdout);
	if (read(0, &byte, 1) < 0 || enter(target, &plan, library, 1000, &injection))
		return 1;
	inject_plan_free(&plan);
	return leave(target, &injection);
}

static int given_up(const struct target *target, struct library library)
{
	struct injection injection;
	struct inject_plan plan;
	struct err err = {0};
	int result;

	if (inject_plan(target, DEADLINE_MS, NULL, &plan, &err))
		return fail("plan", &err);
	given_up_ns = &plan.given_up_ns;
	result = enter(target, &plan, library, GIVEN_UP_DEADLINE_MS, &injection);
	if (calls < give_up_at)
		printf("not so far\n");
	inject_plan_free(&plan);
	return result ? result : leave(target, &injection);
}

struct asking {
	u64 until_ns;
	const char *what;
};

static bool goes_on(void *data, const char *what, u64 until_ns)
{
	struct asking *asking = data;

	asking->what = what;
	return clock_monotonic_ns() < asking->until_ns;
}

static int asked(const struct target *target, struct library library, u32 milliseconds)
{
	struct asking asking = {clock_monotonic_ns() + milliseconds * NS_PER_MILLISECOND, NULL};
	const struct inject_waiting waiting = {&asking, goes_on};
	struct injection injection;
	struct inject_plan plan;
	struct err err = {0};
	int result;

	if (inject_plan(target, GIVEN_UP_DEADLINE_MS, &waiting, &plan, &err))
		return fail("plan", &err);
	result = enter(target, &plan, library, GIVEN_UP_DEADLINE_MS, &injection);
	printf("asked for %s\n", asking.what);
	inject_plan_free(&plan);
	return result ? result : leave(target, &injection);
}

int main(int argc, char **argv)
{
	struct target target;
	struct err err = {0};
	struct library library = {0};

	if (argc < 3)
		return 2;
	if (target_open((u32)atoi(argv[2]), false, &target, &err))
		return fail("target", &err);
	if (argc > 3)
		library = library_read(argv[3]);
	if (!strcmp(argv[1], "plan"))
		return plan_print(&target);
	if (!strcmp(argv[1], "cycle") && argc > 4)
		return cycle(&target, library, strtoul(argv[4], NULL, 10),
			     argc > 5 ? (u32)atoi(argv[5]) : DEADLINE_MS);
	if (!strcmp(argv[1], "late"))
		return late(&target, library);
	if (!strcmp(argv[1], "hold"))
		return hold(&target, library);
	if (!strcmp(argv[1], "signal") && argc > 5) {
		int result;

		signal_at = strtoul(argv[4], NULL, 10);
		signal_number = atoi(argv[5]);
		signal_pid = (pid_t)target.pid;
		result = cycle(&target, library, 1, 1000);
		return calls < signal_at ? 3 : result;
	}
	if (!strcmp(argv[1], "freeze") && argc > 6) {
		freeze_at = strtoul(argv[4], NULL, 10);
		freeze_file = argv[5];
		freeze_text = argv[6];
		return frozen(&target, library);
	}
	if (!strcmp(argv[1], "give_up") && argc > 5) {
		give_up_at = strtoul(argv[4], NULL, 10);
		given_up_ago_ns = strtoul(argv[5], NULL, 10);
		return given_up(&target, library);
	}
	if (!strcmp(argv[1], "asked") && argc > 4)
		return asked(&target, library, (u32)atoi(argv[4]));
	if (!strcmp(argv[1], "die") && argc > 5) {
		die_at = strtoul(argv[4], NULL, 10);
		die_before = !strcmp(argv[5], "before");
		die_in_prepare = !strcmp(argv[5], "prepare");
		return cycle(&target, library, 1, DEADLINE_MS);
	}
	return 2;
}
