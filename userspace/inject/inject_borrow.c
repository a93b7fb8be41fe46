/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose thread: those that wait first, then those that run, each looked at once more now that it is stopped. */
#include "inject/inject_parts.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <time.h>

#include "inject/inject_filter.h"
#include "inject/inject_stack.h"
#include "inject/inject_threads.h"
#include "base/clock.h"

#define BORROW_NS	 (50 * NS_PER_MILLISECOND) /* less left: no further thread is tried */
#define POLL_NS		 NS_PER_MILLISECOND
#define LOOK_NS		 (10 * NS_PER_MILLISECOND) /* at least so long between two looks at all threads */
#define RUNNING_NS	 (5 * NS_PER_MILLISECOND)   /* between two stops of threads that run */
#define RUNNING_AFTER_NS (200 * NS_PER_MILLISECOND) /* of threads that wait none could be had */
#define CALLS_MAX \
	10 /* one that is mostly in system calls is left alone after so many stops in one */
#define IN_CODE_NS (300 * NS_PER_MILLISECOND)

/* A thread can take on a filter at any time; without PTRACE_O_SUSPEND_SECCOMP it may be killed by what we have it do. */
static int check_filter(const struct injector *injector, u32 tid, bool filtered, struct err *err)
{
	u32 mode;

	if (inject_filter_mode(injector->target->proc_fd, tid, &mode))
		return err_set(err, -EAGAIN, "thread %u has ended", tid);
	if ((mode != SECCOMP_MODE_DISABLED) != filtered)
		return err_set(err, -EAGAIN,
			       "thread %u has put itself under a system call filter (seccomp)",
			       tid);
	return 0;
}

#define THREAD_SELF_OFFSET 16 /* of glibc's data about a thread, which point to themselves there */

static bool is_of_libc(const struct injector *injector)
{
	u64 self = registers_thread_pointer(&injector->session.saved.general), word;

	return !inject_memory_read(injector->memory_fd, self + THREAD_SELF_OFFSET, &word,
				   sizeof(word)) &&
	       word == self;
}

/* The last word about a thread, now that it is stopped and shows all its registers. */
static int check_stack(struct injector *injector, bool filtered, struct err *err)
{
	const struct user_regs_struct *general = &injector->session.saved.general;
	bool in_code = injector->session.saved.in_code;
	struct inject_own_stack stack;
	char reason[INJECT_REASON_BYTES];
	struct elf_frame frame;
	int result;

	/* In the middle of code mostly that is what speaks against it: it is let go soon. */
	registers_frame(general, &frame);
	if (in_code && inject_stack_judge_code(injector->plan->stacks, injector->memory_fd, &frame,
					       reason, sizeof(reason)) != INJECT_VERDICT_SAFE)
		return err_set(err, -EAGAIN, "thread %u %s", injector->session.tid, reason);
	if (in_code && !is_of_libc(injector))
		return err_set(err, -EAGAIN, "thread %u was not made by the C library",
			       injector->session.tid);
	if (inject_image(injector->target) != injector->plan->image)
		return err_set(err, -ESTALE, "%u has started another program", injector->plan->pid);
	result = check_filter(injector, injector->session.tid, filtered, err);
	if (!result && filtered)
		result = inject_filter_check(injector->session.tid, err);
	if (result)
		return result;
	if (inject_stack_is_own(injector->target->proc_fd, registers_stack_pointer(general),
				registers_thread_pointer(general), &stack))
		return err_set(err, -ESRCH, "%u ended", injector->plan->pid);
	injector->stack_start = stack.start;
	if (!stack.own)
		return err_set(err, -EAGAIN, "thread %u is not on its own stack",
			       injector->session.tid);
	if (!in_code && inject_stack_judge(injector->plan->stacks, injector->memory_fd, &frame,
					   reason, sizeof(reason)) >= INJECT_VERDICT_UNKNOWN)
		return err_set(err, -EAGAIN, "thread %u %s", injector->session.tid, reason);
	return 0;
}

static void shorten_deadline(struct inject_session *session)
{
	u64 deadline_ns = clock_monotonic_ns() + IN_CODE_NS;

	if (deadline_ns < session->deadline_ns)
		session->deadline_ns = deadline_ns;
}

static int borrow(struct injector *injector, const struct inject_thread *thread, struct err *err)
{
	const struct inject_session_thread taken = {.pid = injector->plan->pid,
						    .tid = thread->tid,
						    .filtered = thread->filtered,
						    .runs = thread->runs};
	struct err end_err = {0};
	int result = check_filter(injector, thread->tid, thread->filtered, err);

	if (!result)
		result = inject_session_begin(&injector->session, &taken, injector->memory_fd,
					      injector->deadline_ns, err);
	if (result)
		return result;
	result = check_stack(injector, thread->filtered, err);
	if (!result && thread->runs && thread->filtered)
		result = inject_session_suspend_filter(&injector->session, err);
	/* Should pthread_create want a lock after all, the thread would be the one that has it. */
	if (injector->session.saved.in_code)
		shorten_deadline(&injector->session);
	if (!result)
		result = injector->run(injector, err);
	if (inject_session_end(&injector->session, &end_err) && !result)
		result = err_set(err, end_err.code, "%s", end_err.message);
	return result;
}

/*
 * What was planned goes out of date: a thread that seemed to be safe may turn out not to be when it is stopped, and stay where it
 * is, while one that ran then waits now. With many threads a look takes long: a fifth of the time at most.
 */
static int look_again(struct injector *injector, u64 *look_ns, struct err *err)
{
	u64 begin_ns = clock_monotonic_ns(), took_ns;
	int result;

	if (begin_ns < *look_ns)
		return 0;
	if (inject_image(injector->target) != injector->plan->image)
		return err_set(err, -ESTALE, "%u has started another program", injector->plan->pid);
	result = inject_threads_find(injector->target, injector->plan, err);
	took_ns = clock_monotonic_ns() - begin_ns;
	*look_ns = begin_ns + LOOK_NS + 5 * took_ns;
	return result;
}

static bool running_given_up(const struct injector *injector)
{
	return clock_monotonic_ns() >= injector->running_until_ns ||
	       injector->stops_in_calls >= CALLS_MAX;
}

/* One that has begun to wait since is not stopped: a wait with a time limit would begin anew each time, and other calls end by a stop. */
static int borrow_running(struct injector *injector, const struct inject_thread *thread,
			  struct err *err)
{
	struct registers *found = &injector->session.saved;
	int result;

	found->extended_bytes = 0;
	nanosleep(&(struct timespec){0, RUNNING_NS}, NULL);
	if (running_given_up(injector) || !inject_thread_runs(injector->target, thread->tid))
		return err_set(err, -EAGAIN, "thread %u waits, or had its time", thread->tid);
	result = borrow(injector, thread, err);
	injector->stops_in_calls += found->extended_bytes && registers_after_system_call(found);
	if (result)
		injector->running_err = *err;
	return result;
}

static int none_in_time(const struct injector *injector, struct err *err)
{
	u32 pid = injector->plan->pid;

	if (!injector->running_err.code)
		return err_prefix(err, "no thread of %u could be borrowed in time", pid);
	return err_set(
		err, -EAGAIN,
		"no thread of %u waits where it could be borrowed, and none that runs was met "
		"in code of its own (%s). Started by gpuprobe -- COMMAND it needs none.",
		pid, injector->running_err.message);
}

static int borrow_one(struct injector *injector, size_t i, struct err *err)
{
	const struct inject_plan *plan = injector->plan;

	if (i < plan->usable_count)
		return plan->threads[i].runs ? borrow_running(injector, &plan->threads[i], err)
					     : borrow(injector, &plan->threads[i], err);
	if (!plan->thread_count)
		return err_set(err, -EAGAIN, "it has none");
	return err_set(err, -EAGAIN, "thread %u %s", plan->threads[0].tid, plan->threads[0].reason);
}

int injector_borrow(struct injector *injector, struct err *err)
{
	u64 running_ns = clock_monotonic_ns() + RUNNING_AFTER_NS, look_ns = 0;
	struct inject_plan *plan = injector->plan;

	injector->running_until_ns = clock_monotonic_ns() + plan->running_ms * NS_PER_MILLISECOND;
	for (size_t i = 0;; i++) {
		int result = borrow_one(injector, i, err);

		if (result != -EAGAIN || target_is_gone(injector->target))
			return result;
		if (clock_monotonic_ns() + BORROW_NS >= injector->deadline_ns)
			return none_in_time(injector, err);
		if (i + 1 < plan->usable_count)
			continue;
		nanosleep(&(struct timespec){0, POLL_NS}, NULL);
		i = (size_t)-1;
		plan->with_running = !running_given_up(injector) &&
				     (plan->with_running || clock_monotonic_ns() >= running_ns);
		result = look_again(injector, &look_ns, err);
		if (result)
			return result;
	}
}
