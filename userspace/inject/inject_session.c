/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inject/inject_session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/arch_x86_64.h"
#include "process/target.h"
#include "inject/inject_filter.h"
#include "inject/inject_sequence.h"
#include "inject/inject_wait.h"
#include "base/cleanup.h"
#include "base/clock.h"

#define POLL_FIRST_NS (20 * NS_PER_MICROSECOND)
/* One that runs stops at once, and stands still until that is seen. */
#define SPIN_NS	     (100 * NS_PER_MICROSECOND)
#define POLL_LAST_NS NS_PER_MILLISECOND
/* One that comes back to a breakpoint stands still at each signal until that is seen. */
#define POLL_AWAITED_NS (100 * NS_PER_MICROSECOND)
#define GIVE_BACK_NS	NS_PER_SECOND
/* Nobody wants it any more, but the thread is in the midst of it, which takes some ms. */
#define THROUGH_NS	 (500 * NS_PER_MILLISECOND)
#define SYSTEM_CALL_STOP (SIGTRAP | 0x80)
#define NO_CALL		 (~0ULL)
#ifndef PTRACE_O_SUSPEND_SECCOMP
#define PTRACE_O_SUSPEND_SECCOMP (1 << 21)
#endif

enum stop { STOP_TRAP, STOP_SYSTEM_CALL, STOP_SIGNAL };

static int ended(const struct inject_session *session, struct err *err)
{
	return err_set(err, -ESRCH, "thread %u of %u ended while it was borrowed", session->tid,
		       session->pid);
}

static bool is_given_up(const struct inject_session *session)
{
	u64 since_ns =
		session->given_up_ns ? __atomic_load_n(session->given_up_ns, __ATOMIC_ACQUIRE) : 0;

	return since_ns && clock_monotonic_ns() >= since_ns + (session->borrowed ? THROUGH_NS : 0);
}

/* The next stop of the thread. -ETIMEDOUT: it runs on. */
static int wait_stop(struct inject_session *session, u64 deadline_ns, enum stop *ret_stop,
		     int *ret_signal, struct err *err)
{
	u64 spin_ns = session->spins ? clock_monotonic_ns() + SPIN_NS : 0;
	u64 pause_ns = POLL_FIRST_NS, last_ns = session->awaited ? POLL_AWAITED_NS : POLL_LAST_NS;

	for (;;) {
		int status;
		pid_t result = waitpid((pid_t)session->tid, &status, __WALL | WNOHANG);

		if (result < 0 && errno == EINTR)
			continue;
		if (result < 0 || (result > 0 && !WIFSTOPPED(status)))
			return ended(session, err);
		if (result > 0) {
			session->stopped = true;
			*ret_signal = WSTOPSIG(status);
			*ret_stop = status >> 16 == PTRACE_EVENT_STOP	   ? STOP_TRAP
				    : WSTOPSIG(status) == SYSTEM_CALL_STOP ? STOP_SYSTEM_CALL
									   : STOP_SIGNAL;
			session->trapped = *ret_stop != STOP_SYSTEM_CALL;
			session->stop_signal =
				*ret_stop == STOP_SIGNAL && *ret_signal == SIGSTOP ? SIGSTOP : 0;
			return 0;
		}
		if (clock_monotonic_ns() < spin_ns)
			continue;
		if (clock_monotonic_ns() >= deadline_ns || is_given_up(session))
			return err_set(err, -ETIMEDOUT, "thread %u of %u does not stop",
				       session->tid, session->pid);
		nanosleep(&(struct timespec){0, (long)pause_ns}, NULL);
		pause_ns = pause_ns * 2 < last_ns ? pause_ns * 2 : last_ns;
	}
}

static int resume(struct inject_session *session, int request, int signal_number, struct err *err)
{
	session->stopped = false;
	/* It stops the process, and us not before we go. */
	if (!signal_number)
		signal_number = session->stop_signal;
	session->stop_signal = 0;
	if (!ptrace(request, session->tid, NULL, (void *)(long)signal_number))
		return 0;
	return ended(session, err);
}

/* ---- the thread is taken ------------------------------------------------------------------------------ */

static int refuse_suspension(const struct inject_session *session, struct err *err)
{
	return err_set(err, -EPERM,
		       "can't take thread %u of %u: another debugger traces it, or gpuprobe "
		       "may not hold up its system call filter (seccomp), which takes "
		       "CAP_SYS_ADMIN and no such filter of its own",
		       session->tid, session->pid);
}

static int seize(struct inject_session *session, bool suspend_seccomp, struct err *err)
{
	unsigned long options =
		PTRACE_O_TRACESYSGOOD | (suspend_seccomp ? PTRACE_O_SUSPEND_SECCOMP : 0);
	int error;

	if (!ptrace(PTRACE_SEIZE, session->tid, NULL, (void *)options))
		return 0;
	error = errno;
	/* To the kernel one that is about to end is none that may be traced. */
	if (error == ESRCH || !target_thread_lives(session->pid, session->tid))
		return err_set(err, -EAGAIN, "thread %u has ended", session->tid);
	if (error == EPERM && suspend_seccomp)
		return refuse_suspension(session, err);
	return err_errno(err, -error, "can't take thread %u of %u: it is traced, or not permitted",
			 session->tid, session->pid);
}

static bool ends_by_stop(u64 number)
{
	return inject_wait_find(number) || arch_call_ends_by_stop((long)number);
}

/* Its own system call, which a stop has interrupted, is made again, unless a handler runs now. A signal that is ignored would not have come to
 * the thread, were it not traced. */
static void call_goes_on(const struct inject_session *session)
{
	struct registers now = {.extended_bytes = 0};
	u64 number, arguments[6];

	if (registers_read_general(session->tid, &now.general) ||
	    !registers_in_system_call(&now, &number, arguments) || !ends_by_stop(number))
		return;
	registers_restart(&now);
	registers_write_general(session->tid, &now.general);
}

/* Signals that came before our stop are delivered as ever. */
static int first_stop(struct inject_session *session, struct err *err)
{
	for (;;) {
		enum stop stop;
		int signal_number, result;

		result = wait_stop(session, session->deadline_ns, &stop, &signal_number, err);
		if (result)
			return result;
		if (stop == STOP_TRAP && signal_number == SIGTRAP)
			return 0;
		if (stop == STOP_TRAP)
			return err_set(err, -EAGAIN,
				       "it is stopped (SIGSTOP); let it go on (SIGCONT) first");
		call_goes_on(session);
		result = resume(session, PTRACE_CONT, stop == STOP_SIGNAL ? signal_number : 0, err);
		if (result)
			return result;
	}
}

static bool is_behind_instruction(const struct inject_session *session)
{
	u8 instruction[2];

	return !inject_memory_read(session->memory_fd,
				   registers_program_counter(&session->saved.general) -
					   sizeof(instruction),
				   instruction, sizeof(instruction)) &&
	       registers_is_system_call(instruction);
}

static int check_code(struct inject_session *session, struct err *err)
{
	u64 number;

	if (inject_sequence_is_at(session->tid, session->memory_fd,
				  registers_program_counter(&session->saved.general)))
		return err_set(err, -EAGAIN, "thread %u may be in a restartable sequence",
			       session->tid);
	session->saved.in_code = true;
	session->behind = INJECT_BEHIND_NEVER;
	if (registers_after_system_call(&session->saved, &number) && is_behind_instruction(session))
		session->behind = inject_wait_takes_behind(number);
	session->restart_number = 0;
	return 0;
}

/* A wait with a time limit that our stop has interrupted goes on by restart_syscall, which a filter may forbid, be it that it
 * allows the call itself: it is made anew by its own number. */
static int avoid_restart(struct inject_session *session, struct err *err)
{
	session->restart_forbidden = true;
	registers_restart_anew(&session->saved, 0);
	if (registers_write_general(session->tid, &session->saved.general))
		return ended(session, err);
	return err_set(
		err, -EAGAIN,
		"thread %u waits with a time limit, which goes on by restart_syscall, and its "
		"system call filter (seccomp) does not allow that",
		session->tid);
}

/* Is it where we can take it: in a system call that blocks, and will be made again, or in the middle of code? */
static int check_place(struct inject_session *session, const struct inject_session_thread *thread,
		       struct err *err)
{
	bool runs = thread->runs;
	u64 number, arguments[6];

	if (thread->filtered &&
	    registers_is_interrupted_wait(registers_result(&session->saved.general)) &&
	    registers_after_system_call(&session->saved, &number) &&
	    !inject_filter_allows(session->tid, SYS_restart_syscall))
		return avoid_restart(session, err);
	if (!registers_in_system_call(&session->saved, &number, arguments))
		return runs ? check_code(session, err)
			    : err_set(err, -EAGAIN, "thread %u does not wait", session->tid);
	/* Also a thread that is not taken goes on with its call, which our stop has interrupted. */
	if (ends_by_stop(number))
		registers_restart(&session->saved);
	if (!inject_wait_find(number))
		return err_set(err, -EAGAIN, "thread %u does not wait", session->tid);
	if (!is_behind_instruction(session))
		return err_set(err, -EAGAIN, "thread %u does not wait in a system call",
			       session->tid);
	return 0;
}

/* The function of the kernel that the thread waits in, "" if it does not say. */
static void sleeps_in(u32 tid, char name[64])
{
	_cleanup_close_ int fd = -1;
	char path[32];
	ssize_t count;

	snprintf(path, sizeof(path), "/proc/%u/wchan", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	count = fd < 0 ? 0 : read(fd, name, 63);
	name[count > 0 ? count : 0] = 0;
}

int inject_session_begin(struct inject_session *session, const struct inject_session_thread *thread,
			 int memory_fd, u64 deadline_ns, struct err *err)
{
	u32 tid = thread->tid;
	char kernel_function[64];
	int result;

	*session = (struct inject_session){.pid = thread->pid,
					   .tid = tid,
					   .memory_fd = memory_fd,
					   .deadline_ns = deadline_ns,
					   .given_up_ns = thread->given_up_ns,
					   .spins = thread->runs,
					   .entered = NO_CALL};
	sleeps_in(tid, kernel_function);
	result = seize(session, thread->filtered && !thread->runs, err);
	if (result)
		return result;
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
		result = ended(session, err);
	else
		result = first_stop(session, err);
	/* The process may have others. */
	if (result == -ESRCH)
		return err_set(err, -EAGAIN, "thread %u has ended", tid);
	if (!result && registers_read(tid, &session->saved))
		result = err_set(err, thread->runs ? -EAGAIN : -EOPNOTSUPP,
				 "can't read the registers of thread %u", tid);
	if (!result)
		session->restart_number =
			registers_restart_number(&session->saved, kernel_function);
	if (!result)
		result = check_place(session, thread, err);
	if (result)
		inject_session_end(session, NULL);
	return result;
}

int inject_session_suspend_filter(struct inject_session *session, struct err *err)
{
	unsigned long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_SUSPEND_SECCOMP;

	if (!ptrace(PTRACE_SETOPTIONS, session->tid, NULL, (void *)options))
		return 0;
	return errno == ESRCH ? ended(session, err) : refuse_suspension(session, err);
}

/* ---- it comes to a breakpoint ------------------------------------------------------------------------- */

/* As it stood, and as it would have gone on behind inject_session_end(). */
static int let_go(struct inject_session *session, struct err *err)
{
	if (registers_write(session->tid, &session->saved))
		return ended(session, err);
	session->saved.extended_bytes = 0;
	return resume(session, PTRACE_CONT, 0, err);
}

/* All other signals are delivered as ever. */
static int hit_wait(struct inject_session *session, struct inject_breakpoint *breakpoint,
		    u64 until_ns, struct err *err)
{
	for (;;) {
		enum stop stop;
		int signal_number, result;

		result = wait_stop(session, until_ns, &stop, &signal_number, err);
		/* One that was hit just now is about to stop. */
		if (result == -ETIMEDOUT && breakpoint->fd >= 0) {
			inject_breakpoint_clear(breakpoint);
			result = wait_stop(session, until_ns, &stop, &signal_number, err);
		}
		if (result)
			return result;
		if (stop == STOP_TRAP)
			return err_set(err, -EAGAIN, "thread %u is being stopped (SIGSTOP)",
				       session->tid);
		if (inject_breakpoint_is_hit(breakpoint, session->tid, signal_number))
			return 0;
		call_goes_on(session);
		result = resume(session, PTRACE_CONT, signal_number, err);
		if (result)
			return result;
	}
}

int inject_session_await(struct inject_session *session, const struct inject_session_thread *thread,
			 struct inject_breakpoint *breakpoint, u64 until_ns, struct err *err)
{
	int result = let_go(session, err);

	session->awaited = true;
	if (!result)
		result = hit_wait(session, breakpoint, until_ns, err);
	session->awaited = false;
	inject_breakpoint_clear(breakpoint);
	if (result == -ESRCH)
		return err_set(err, -EAGAIN, "thread %u has ended", session->tid);
	session->saved.in_code = false;
	if (!result && registers_read(session->tid, &session->saved))
		result = err_set(err, -EAGAIN, "can't read the registers of thread %u",
				 session->tid);
	if (!result)
		result = check_place(session, thread, err);
	if (!result && !session->saved.in_code)
		result = err_set(err, -EAGAIN, "thread %u waits by now", session->tid);
	return result;
}

/* ---- it runs ------------------------------------------------------------------------------------------ */

/* The next system call stop. A fault is the end: our code ran into something that it should not. */
static int next_system_call(struct inject_session *session, struct err *err)
{
	for (;;) {
		enum stop stop;
		int signal_number, result = resume(session, PTRACE_SYSCALL, 0, err);

		if (!result)
			result = wait_stop(session, session->deadline_ns, &stop, &signal_number,
					   err);
		if (result)
			return result;
		if (stop == STOP_SYSTEM_CALL)
			return 0;
		if (stop == STOP_SIGNAL && !session->stop_signal)
			return err_set(err, -EFAULT, "thread %u of %u: signal %d (%s) in our code",
				       session->tid, session->pid, signal_number,
				       strsignal(signal_number));
		/* The process is being stopped: this thread will be when it is given back. */
	}
}

static int system_call_info(struct inject_session *session, struct __ptrace_syscall_info *ret_info,
			    struct err *err)
{
	memset(ret_info, 0, sizeof(*ret_info));
	if (ptrace(PTRACE_GET_SYSCALL_INFO, session->tid, (void *)sizeof(*ret_info), ret_info) <= 0)
		return ended(session, err);
	return 0;
}

/* Once it no longer stands where it was: left alone from here it comes back by the frame of a signal handler, which
 * gives it its signal mask again. */
static int code_set(struct inject_session *session, const struct user_regs_struct *general,
		    struct err *err)
{
	u64 blocked = ~0ULL;

	if (registers_write_general(session->tid, general) ||
	    ptrace(PTRACE_SETSIGMASK, session->tid, sizeof(blocked), &blocked))
		return ended(session, err);
	return 0;
}

int inject_session_call(struct inject_session *session, u64 syscall_return, u64 stack_pointer,
			u64 number, const u64 arguments[6], s64 *ret_result, struct err *err)
{
	struct user_regs_struct general = session->saved.general;
	int result;

	session->borrowed = true;
	registers_set_code(&general, syscall_return, stack_pointer);
	registers_set_system_call(&general, number, arguments);
	result = code_set(session, &general, err);
	for (int stop = 0; stop < 2 && !result; stop++)
		result = next_system_call(session, err);
	if (result)
		return result;
	if (registers_read_general(session->tid, &general))
		return ended(session, err);
	*ret_result = (s64)registers_result(&general);
	return 0;
}

static bool makes_thread(u64 number)
{
	return number == SYS_clone || number == SYS_clone3;
}

/* Also where the stop was only met on the way to another one. */
static void note_exit(struct inject_session *session, const struct __ptrace_syscall_info *info)
{
	if (makes_thread(session->entered) && info->exit.rval > 0)
		session->made_tid = (u32)info->exit.rval;
	if (session->entered == SYS_munmap)
		session->unmapped = session->entered_argument;
	session->restart_lost |= registers_is_interrupted_wait((u64)info->exit.rval);
	session->entered = NO_CALL;
}

int inject_session_run(struct inject_session *session, u64 address, u64 stack_pointer,
		       const u64 places[2], u64 *ret_place, struct err *err)
{
	struct user_regs_struct general = session->saved.general;
	struct __ptrace_syscall_info info;
	int result;

	session->borrowed = true;
	if (address) {
		registers_set_code(&general, address, stack_pointer);
		result = code_set(session, &general, err);
		if (result)
			return result;
	}
	for (;;) {
		result = next_system_call(session, err);
		if (!result)
			result = system_call_info(session, &info, err);
		if (result)
			return result;
		if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
			note_exit(session, &info);
			continue;
		}
		session->entered = info.entry.nr;
		session->entered_argument = info.entry.args[0];
		session->restart_lost |= registers_loses_restart(session->entered);
		if (info.instruction_pointer == places[0] ||
		    info.instruction_pointer == places[1]) {
			*ret_place = info.instruction_pointer;
			return 0;
		}
	}
}

/* ---- it is given back --------------------------------------------------------------------------------- */

/* A system call that has not begun: it will be entered once more, should we die before the registers are back. */
static int system_call_undo(struct inject_session *session)
{
	struct user_regs_struct general = {0};
	struct __ptrace_syscall_info info;
	int result = system_call_info(session, &info, NULL);

	if (!result && info.op == PTRACE_SYSCALL_INFO_EXIT)
		note_exit(session, &info);
	if (result || info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return result;
	session->entered = NO_CALL;
	result = registers_read_general(session->tid, &general);
	if (result)
		return result;
	registers_undo_system_call(&general);
	return registers_write_general(session->tid, &general);
}

/* What the stop has interrupted is a wait in our code, or, where it came too late for us to take the thread, still the thread's own. Then
 * a signal may be on its way to it, too. */
static void note_trap(struct inject_session *session, int signal_number)
{
	struct user_regs_struct general = {0};

	if (!session->borrowed) {
		session->stop_signal = signal_number;
		call_goes_on(session);
	} else if (!registers_read_general(session->tid, &general)) {
		session->restart_lost |= registers_is_interrupted_wait(registers_result(&general));
	}
}

/* Only where the kernel is about to look for signals does it take up an interrupted system call again, so that
 * is where it is brought, without one more instruction of the thread. */
static int bring_to_trap(struct inject_session *session, u64 deadline_ns, struct err *err)
{
	if (ptrace(PTRACE_INTERRUPT, session->tid, NULL, NULL))
		return ended(session, err);
	for (;;) {
		enum stop stop;
		int signal_number, result;

		if (session->stopped && !session->trapped && system_call_undo(session))
			return ended(session, err);
		/* Any stop takes the place of the one that was asked for (ptrace_stop() of the kernel). */
		if (session->stopped && ptrace(PTRACE_INTERRUPT, session->tid, NULL, NULL))
			return ended(session, err);
		result = session->stopped ? resume(session, PTRACE_CONT, 0, err) : 0;
		if (!result)
			result = wait_stop(session, deadline_ns, &stop, &signal_number, err);
		if (result)
			return result;
		if (session->trapped) {
			note_trap(session, stop == STOP_SIGNAL ? signal_number : 0);
			return 0;
		}
	}
}

bool inject_session_waits_for_lock(const struct inject_session *session,
				   struct elf_frame *ret_frame)
{
	struct registers now = {.extended_bytes = 0};
	u64 number, arguments[6];

	if (registers_read_general(session->tid, &now.general))
		return false;
	registers_frame(&now.general, ret_frame);
	return registers_in_system_call(&now, &number, arguments) && number == SYS_futex;
}

u64 inject_session_result(const struct inject_session *session)
{
	struct user_regs_struct general = {0};

	return registers_read_general(session->tid, &general) ? 0 : registers_result(&general);
}

int inject_session_interrupt(struct inject_session *session, struct err *err)
{
	u64 deadline_ns = clock_monotonic_ns() + GIVE_BACK_NS;

	session->deadline_ns = deadline_ns;
	session->given_up_ns = NULL;
	if (session->stopped && session->trapped)
		return 0;
	return bring_to_trap(session, deadline_ns, err);
}

int inject_session_end(struct inject_session *session, struct err *err)
{
	int result = inject_session_interrupt(session, err);

	/* Only now it is known how far it came. */
	session->midway &= session->made_tid || session->leaves || !session->killed_at_start;
	if (result)
		return result == -ETIMEDOUT ? err_set(err, result,
						      "thread %u of %u could not be given back: it "
						      "does not stop",
						      session->tid, session->pid)
					    : result;
	if (session->restart_lost)
		registers_restart_anew(&session->saved, session->restart_number);
	if (session->saved.extended_bytes && !session->midway &&
	    registers_write(session->tid, &session->saved))
		result = ended(session, err);
	if (ptrace(PTRACE_DETACH, session->tid, NULL, (void *)(long)session->stop_signal) &&
	    !result)
		result = ended(session, err);
	session->stopped = false;
	return result;
}
