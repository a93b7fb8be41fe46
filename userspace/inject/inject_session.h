/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A borrowed thread: stopped by ptrace in a system call that blocked, or in the middle of its code, made to run something else, and given
 * back as it was. All signals are blocked while it is borrowed, so that those which come for it wait, with all
 * that the kernel knows about them, and are delivered when it goes on. A stop signal for the process is obeyed
 * when it is given back.
 *
 * The thread that begins a session does all of it. Blocks up to the deadline, at the end one second more.
 */
#ifndef GPUPROBE_INJECT_INJECT_SESSION_H
#define GPUPROBE_INJECT_INJECT_SESSION_H

#include "inject/inject_breakpoint.h"
#include "inject/inject_memory.h"
#include "inject/inject_registers.h"
#include "inject/inject_wait.h"
#include "base/err.h"

struct inject_session {
	u32 pid, tid;
	int memory_fd;		/* /proc/PID/mem, the caller's */
	u64 deadline_ns;	/* CLOCK_MONOTONIC */
	const u64 *given_up_ns; /* as in struct inject_session_thread, until it is on its way back */
	struct registers saved; /* what the thread is given back with */
	bool stopped;		/* it is stopped, by us, and knows what it will do when it goes on */
	int stop_signal;	/* SIGSTOP, which nobody can block, is about to be delivered to it; else 0 */
	bool trapped;		/* where registers can be put back: not at a system call stop */
	enum inject_behind behind; /* saved.in_code: just behind a system call that has ended, of those that inject_wait.def has for that? */
	bool awaited;		/* it runs towards a breakpoint */
	bool spins;		/* its stops are waited for without a pause at first */
	bool killed_at_start;	/* by the caller: its filter (seccomp), which is held up, would kill it at what is still to be done until made_tid */
	bool borrowed;		/* it has run something for us */
	bool midway;		/* by the caller: it is not through, and is let go where it is, to come back by itself */
	bool leaves;		/* by the caller: where it is nothing of that is done any more */
	u64 restart_number;	/* of the wait that it goes on with by restart_syscall; 0: it does not, or that is not known */
	bool restart_forbidden;	/* its filter forbids to go on so: it made its wait anew */
	bool restart_lost;	/* what the kernel keeps to go on with an interrupted wait is that of another one by now */
	u64 entered;		/* number of the system call that it is in, as far as its stops tell */
	u64 entered_argument;	/* the first one of that */
	u64 unmapped;		/* the first one of the last munmap() that ended; 0: none */
	u32 made_tid;		/* of a thread that it made by clone(), as the target sees it; 0: none yet */
};

/* Which thread, and how it may be taken. */
struct inject_session_thread {
	u32 pid, tid;
	bool filtered; /* by seccomp */
	bool runs; /* in the middle of its code, too: saved.in_code then tells that it was */
	const u64 *given_up_ns; /* set by another thread when nobody wants it any more: its time is then over, or in a moment; NULL: that can't be */
};

/* -EAGAIN: the thread is not in a system call that blocks, nor where else it may be taken, or has ended: take another one. -EPERM: somebody
 * traces it, or we may not. */
int inject_session_begin(struct inject_session *session, const struct inject_session_thread *thread, int memory_fd, u64 deadline_ns,
			 struct err *err);
/* Of one with a filter that ran: before this, its own code may run, under its filter. -EPERM: as above. */
int inject_session_suspend_filter(struct inject_session *session, struct err *err);
/* Of one that runs, and was left as it was so far: lets it go on from where it stands until the breakpoint is hit, where it then stands as behind
 * inject_session_begin(). The breakpoint is cleared. -ETIMEDOUT: it is not stopped, and may be in anything: the session is not to be ended,
 * the kernel lets the thread go when the one ends that began the session. Other errors as of inject_session_begin(). */
int inject_session_await(struct inject_session *session, const struct inject_session_thread *thread,
			 struct inject_breakpoint *breakpoint, u64 until_ns, struct err *err);
/* One system call, by the instruction at syscall_return. If we die the thread goes on by "ret" with that stack
 * pointer. ret_result: as the kernel gave it, -errno included. */
int inject_session_call(struct inject_session *session, u64 syscall_return, u64 stack_pointer, u64 number,
			const u64 arguments[6], s64 *ret_result, struct err *err);
/* Lets it run code at address (0: on from where it is) until it enters a system call at one of two places, by
 * the address behind the instruction. */
int inject_session_run(struct inject_session *session, u64 address, u64 stack_pointer, const u64 places[2],
		       u64 *ret_place, struct err *err);
/* Of a thread that inject_session_interrupt() has stopped: where is it, and does it wait for a lock there? */
bool inject_session_waits_for_lock(const struct inject_session *session, struct elf_frame *ret_frame);
/* Of the same: what the system call gave that it was in, or whatever its register holds; 0: that can't be told. */
u64 inject_session_result(const struct inject_session *session);
/* Stops it wherever it is, so that it can be made to run something else; what is done next has a second. */
int inject_session_interrupt(struct inject_session *session, struct err *err);
/* Gives the thread back, where it was. Says so when that failed; then it has not stopped,
 * and the kernel lets it go when the thread ends that began the session. */
int inject_session_end(struct inject_session *session, struct err *err);

#endif
