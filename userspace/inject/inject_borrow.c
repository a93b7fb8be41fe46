/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose thread: those that wait first, then those that run, each looked at once more now that it is stopped. */
#include "inject/inject_parts.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <time.h>

#include "inject/inject_filter.h"
#include "inject/inject_stack.h"
#include "inject/inject_threads.h"
#include "inject/inject_wait.h"
#include "base/clock.h"

#define BORROW_NS	   (50 * NS_PER_MILLISECOND) /* less left: no further thread is tried */
#define POLL_NS		   NS_PER_MILLISECOND
#define LOOK_NS		   (10 * NS_PER_MILLISECOND) /* at least so long between two looks at all threads */
#define RUNNING_NS	   (5 * NS_PER_MILLISECOND)  /* between two stops of threads that run, */
#define RUNNING_SLOW_NS	   (20 * NS_PER_MILLISECOND) /* and when that did not help for */
#define RUNNING_QUICK_NS   (3 * NS_PER_SECOND)
#define RUNNING_AFTER_NS   (200 * NS_PER_MILLISECOND) /* of threads that wait none could be had */
#define RUNNING_LOOKS_MAX  8			      /* of threads, in a row, for one that runs */
#define RUNNING_SHARES_MAX 4
#define COMES_BACK_NS \
	(20 *         \
	 NS_PER_MILLISECOND) /* to code of its own, the first time, twice as long each further one, */
#define COMES_BACK_TIMES 5
#define CALLS_MAX \
	10 /* one that is mostly in system calls is left alone after so many stops in one */

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

static int check_image(const struct injector *injector, struct err *err)
{
	u64 image = inject_image(injector->target);

	if (image == injector->plan->image)
		return 0;
	return image ? err_set(err, -ESTALE, "%u has started another program", injector->plan->pid)
		     : err_set(err, -ESRCH, "%u ended", injector->plan->pid);
}

/* The last word about a thread, now that it is stopped and shows all its registers. */
static int check_stack(struct injector *injector, bool filtered, struct err *err)
{
	const struct user_regs_struct *general = &injector->session.saved.general;
	/* Just behind a system call it stands where one stands that waits, and is judged as that one. */
	bool in_code = injector->session.saved.in_code,
	     as_waiting = !in_code || injector->session.behind != INJECT_BEHIND_NEVER;
	struct inject_own_stack stack;
	char reason[INJECT_REASON_BYTES];
	struct elf_frame frame;
	int result;

	/* In the middle of code mostly that is what speaks against it: it is let go soon. */
	registers_frame(general, &frame);
	if (in_code && injector->session.behind != INJECT_BEHIND_CALL &&
	    inject_stack_judge_code(injector->plan->stacks, injector->memory_fd, &frame, as_waiting,
				    reason, sizeof(reason)) != INJECT_VERDICT_SAFE)
		return err_set(err, -EAGAIN, "thread %u %s", injector->session.tid, reason);
	if (in_code && !is_of_libc(injector))
		return err_set(err, -EAGAIN, "thread %u was not made by the C library",
			       injector->session.tid);
	result = check_image(injector, err);
	if (result)
		return result;
	result = check_filter(injector, injector->session.tid, filtered, err);
	if (!result && filtered)
		result = inject_filter_check(injector->session.tid,
					     &injector->session.killed_at_start, err);
	if (result)
		return result;
	if (inject_stack_is_own(injector->target->proc_fd, registers_stack_pointer(general),
				registers_thread_pointer(general), &stack))
		return err_set(err, -ESRCH, "%u ended", injector->plan->pid);
	injector->stack_start = stack.start;
	if (!stack.own)
		return err_set(err, -EAGAIN, "thread %u is not on its own stack",
			       injector->session.tid);
	if (as_waiting && inject_stack_judge(injector->plan->stacks, injector->memory_fd, &frame,
					     reason, sizeof(reason)) >= INJECT_VERDICT_UNKNOWN)
		return err_set(err, -EAGAIN, "thread %u %s", injector->session.tid, reason);
	return 0;
}

static int none_in_time(const struct injector *injector, struct err *err)
{
	const struct err *waiting = &injector->waiting_err;
	u32 pid = injector->plan->pid;

	if (inject_given_up_ns(injector->plan))
		return err_set(err, -ECANCELED,
			       "it was given up before a thread of %u could be borrowed", pid);
	if (!injector->running_err.code && waiting->code)
		return err_set(err, -EAGAIN, "no thread of %u could be borrowed in time: %s", pid,
			       waiting->message);
	if (!injector->running_err.code)
		return err_prefix(err, "no thread of %u could be borrowed in time", pid);
	return err_set(
		err, -EAGAIN,
		"no thread of %u waits where it could be borrowed%s%s%s, and none that runs was "
		"met in code of its own (%s). Started by gpuprobe -- COMMAND it needs none.",
		pid, waiting->code ? " (" : "", waiting->message, waiting->code ? ")" : "",
		injector->running_err.message);
}

/* What is kept of a thread that runs: how many stops were in a system call, which may have ended by that; when it may be stopped again; how
 * often it did not come back to code of its own in time. */
enum running { RUNNING_IN_CALLS, RUNNING_AGAIN_NS, RUNNING_STAYED_AWAY };

static u64 running_get(const struct injector *injector, u32 tid, enum running what)
{
	const u64 *value = map_find(&injector->running, tid, what);

	return value ? *value : 0;
}

/* One that is mostly in system calls behind which it is not taken is left alone: some are cut off by a stop. */
static bool is_in_calls(const struct injector *injector, u32 tid)
{
	return running_get(injector, tid, RUNNING_IN_CALLS) >= CALLS_MAX;
}

/* Others that run have their turn: one that always does, and never may be taken, would leave them none. */
static void running_note(struct injector *injector, u32 tid, u64 pause_ns, bool in_call)
{
	const struct inject_plan *plan = injector->plan;
	u64 calls = running_get(injector, tid, RUNNING_IN_CALLS) + in_call, shares = 0;

	for (size_t i = 0; i < plan->thread_count && shares < RUNNING_SHARES_MAX; i++)
		shares += plan->threads[i].may_run && !is_in_calls(injector, plan->threads[i].tid);
	map_set(&injector->running, tid, RUNNING_AGAIN_NS,
		clock_monotonic_ns() + shares * pause_ns);
	map_set(&injector->running, tid, RUNNING_IN_CALLS, calls);
}

/*
 * It stands where it can't be taken: in the midst of the C library, an allocator, CUDA. Where it was called from there one that can be, it is
 * met there when it comes back: nothing stops it until then. -ETIMEDOUT: it did not, and runs on, traced.
 */
static int meet_coming_back(struct injector *injector, const struct inject_session_thread *taken,
			    struct err *err)
{
	u64 times = running_get(injector, taken->tid, RUNNING_STAYED_AWAY),
	    until_ns = clock_monotonic_ns() + (COMES_BACK_NS << times), address;
	struct inject_breakpoint breakpoint;
	struct elf_frame frame;
	int result;

	if (until_ns > injector->running_until_ns)
		until_ns = injector->running_until_ns;
	registers_frame(&injector->session.saved.general, &frame);
	if (times >= COMES_BACK_TIMES || until_ns + BORROW_NS >= injector->deadline_ns ||
	    clock_monotonic_ns() + RUNNING_NS >= until_ns ||
	    inject_stack_comes_back(injector->plan->stacks, injector->memory_fd, &frame,
				    &address) ||
	    inject_breakpoint_set(taken->pid, taken->tid, address, &breakpoint))
		return -EAGAIN;
	result = inject_session_await(&injector->session, taken, &breakpoint, until_ns, NULL);
	if (result == -ETIMEDOUT)
		map_set(&injector->running, taken->tid, RUNNING_STAYED_AWAY, times + 1);
	return result ? result : check_stack(injector, taken->filtered, err);
}

static int borrow(struct injector *injector, const struct inject_thread *thread, struct err *err)
{
	const struct inject_session_thread taken = {.pid = injector->plan->pid,
						    .tid = thread->tid,
						    .filtered = thread->filtered,
						    .runs = thread->runs,
						    .given_up_ns = &injector->plan->given_up_ns};
	struct err end_err = {0};
	int result = check_filter(injector, thread->tid, thread->filtered, err);

	if (inject_given_up_ns(injector->plan))
		return none_in_time(injector, err);
	injector->stop_count += !result;
	if (!result)
		result = inject_session_begin(&injector->session, &taken, injector->memory_fd,
					      injector->deadline_ns, err);
	if (result)
		return result;
	result = check_stack(injector, thread->filtered, err);
	if (result == -EAGAIN && thread->runs)
		result = meet_coming_back(injector, &taken, err);
	if (result == -ETIMEDOUT) {
		injector->traced_on = true;
		return -EAGAIN;
	}
	if (!result && thread->runs && thread->filtered)
		result = inject_session_suspend_filter(&injector->session, err);
	if (!result && inject_given_up_ns(injector->plan))
		result = none_in_time(injector, err);
	if (!result)
		result = injector->run(injector, err);
	if (inject_session_end(&injector->session, &end_err) && !result)
		result = err_set(err, end_err.code, "%s", end_err.message);
	/* It was not through when it was let go. */
	if (result && injector->session.midway && end_err.code != -ESRCH)
		err_set(err, result,
			"%s; it goes on by itself when it can, with memory of ours until then",
			err ? err->message : "");
	return result;
}

/*
 * What was planned goes out of date: a thread that seemed to be safe may turn out not to be when it is stopped, and stay where it
 * is, while one that ran then waits now. With many threads a look takes long: a fifth of the time at most.
 */
static int look_again(struct injector *injector, struct err *err)
{
	u64 begin_ns = clock_monotonic_ns(), took_ns;
	int result;

	if (begin_ns < injector->look_ns)
		return 0;
	result = check_image(injector, err);
	if (result)
		return result;
	result = inject_threads_find(injector->target, injector->plan, err);
	took_ns = clock_monotonic_ns() - begin_ns;
	injector->look_ns = begin_ns + LOOK_NS + 5 * took_ns;
	return result;
}

static bool running_given_up(const struct injector *injector)
{
	return clock_monotonic_ns() >= injector->running_until_ns;
}

/* One that waits is not stopped: a wait with a time limit would begin anew each time, and other calls end by a stop. */
static bool may_be_tried(const struct injector *injector, const struct inject_thread *thread)
{
	return thread->may_run && !is_in_calls(injector, thread->tid) &&
	       clock_monotonic_ns() >= running_get(injector, thread->tid, RUNNING_AGAIN_NS) &&
	       inject_thread_runs(injector->target, thread->tid);
}

/* A thread that runs now, also one that waited when all were looked at. Now of those that ran then, now of all, another one first each
 * time: NULL: some of them wait. */
static const struct inject_thread *running_find(const struct injector *injector, size_t turn)
{
	const struct inject_plan *plan = injector->plan;
	size_t begin = 0, count = plan->thread_count;

	if (turn % 2) {
		while (begin < plan->usable_count && !plan->threads[begin].runs)
			begin++;
		count = plan->usable_count - begin;
	}
	for (size_t i = 0; i < count && i < RUNNING_LOOKS_MAX; i++) {
		const struct inject_thread *thread = &plan->threads[begin + (turn / 2 + i) % count];

		if (may_be_tried(injector, thread))
			return thread;
	}
	return NULL;
}

static int borrow_running(struct injector *injector, const struct inject_thread *found_thread,
			  struct err *err)
{
	struct inject_thread thread = *found_thread;
	struct registers *found = &injector->session.saved;
	u64 pause_ns = clock_monotonic_ns() < injector->running_quick_until_ns ? RUNNING_NS
									       : RUNNING_SLOW_NS;
	u64 call;
	int result;

	thread.runs = true;
	found->extended_bytes = 0;
	result = borrow(injector, &thread, err);
	running_note(injector, thread.tid, pause_ns,
		     found->extended_bytes && registers_after_system_call(found, &call) &&
			     !inject_wait_is_whole(call));
	if (result)
		injector->running_err = *err;
	/* Of one that is traced each signal would be waited for as long. */
	if (!injector->traced_on)
		nanosleep(&(struct timespec){0, (long)pause_ns}, NULL);
	return result;
}

static bool is_time_over(const struct injector *injector)
{
	return clock_monotonic_ns() + BORROW_NS >= injector->deadline_ns ||
	       inject_given_up_ns(injector->plan);
}

/* One that was refused is left alone for a while; others have their turn meanwhile. */
static int borrow_waiting(struct injector *injector, struct inject_thread *thread, struct err *err)
{
	struct registers *found = &injector->session.saved;
	u64 place = 0;
	int result;

	if (thread->refused ||
	    (injector->restart_forbidden && thread->filtered && thread->limited) ||
	    !inject_refusals_allow(&injector->refusals, thread->tid, clock_monotonic_ns()))
		return -EAGAIN;
	found->extended_bytes = 0;
	result = borrow(injector, thread, err);
	thread->refused = result == -EAGAIN;
	if (thread->refused && !injector->restart_forbidden)
		injector->waiting_err = *err;
	injector->restart_forbidden |= injector->session.restart_forbidden;
	if (found->extended_bytes)
		place = registers_program_counter(&found->general) ^
			registers_stack_pointer(&found->general) << 1;
	if (thread->refused)
		inject_refusals_note(&injector->refusals, thread->tid, place, clock_monotonic_ns());
	return result;
}

/* All that wait, and one that runs, another one each time. */
static int borrow_round(struct injector *injector, size_t turn, struct err *err)
{
	struct inject_plan *plan = injector->plan;
	const struct inject_thread *running;
	size_t waiting = 0;

	while (waiting < plan->usable_count && !plan->threads[waiting].runs) {
		int result = borrow_waiting(injector, &plan->threads[waiting++], err);

		if (result != -EAGAIN || is_time_over(injector))
			return result;
	}
	running = running_given_up(injector) ? NULL : running_find(injector, turn);
	if (running)
		return borrow_running(injector, running, err);
	if (plan->usable_count)
		return err_set(err, -EAGAIN, "its threads wait, or had their time");
	if (!plan->thread_count)
		return err_set(err, -EAGAIN, "it has none");
	return err_set(err, -EAGAIN, "thread %u %s", plan->threads[0].tid, plan->threads[0].reason);
}

void injector_begin(struct injector *injector)
{
	struct inject_plan *plan = injector->plan;

	for (size_t i = 0; i < plan->thread_count; i++)
		plan->threads[i].refused = false;
	injector->running_ns = clock_monotonic_ns() + RUNNING_AFTER_NS;
	injector->running_quick_until_ns = injector->running_ns + RUNNING_QUICK_NS;
	injector->running_until_ns = clock_monotonic_ns() + plan->running_ms * NS_PER_MILLISECOND;
}

int injector_borrow(struct injector *injector, struct err *err)
{
	struct inject_plan *plan = injector->plan;

	for (;; injector->turn++) {
		int result = borrow_round(injector, injector->turn, err);

		if (result != -EAGAIN || target_is_gone(injector->target))
			return result;
		if (is_time_over(injector) || (plan->impatient && running_given_up(injector))) {
			injector->traced_on = false;
			return none_in_time(injector, err);
		}
		if (injector->traced_on) {
			injector->turn++;
			return -EAGAIN;
		}
		nanosleep(&(struct timespec){0, POLL_NS}, NULL);
		plan->with_running =
			!running_given_up(injector) &&
			(plan->with_running || clock_monotonic_ns() >= injector->running_ns);
		result = look_again(injector, err);
		if (result)
			return result;
	}
}
