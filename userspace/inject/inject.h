/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Puts the agent into a process that was never prepared, by ptrace, in two steps: a plan that touches nothing
 * and can be printed, and the injection itself.
 *
 * On the borrowed thread run only system calls (mmap, memfd_create) and the target's own pthread_create; the new
 * thread, with all signals blocked, does the rest: dlopen of the library (a memfd), AGENT_ENTRY, dlclose, and
 * takes the code that it ran on out of memory with its last step. So nothing has to be undone from outside.
 * Everything has a deadline and a way back: the thread is given back as it was (registers with XSAVE state,
 * signal mask, interrupted system call), or was never changed.
 *
 * A thread that waits in a system call is taken where there is one. A program whose threads never wait (a loop that computes, or asks again and
 * again whether the GPU is done) has one taken that runs, where it happens to be in code of the program's own, which holds no lock that pthread_create wants, or just
 * behind a system call that has ended, where it stands as one that waits; it is
 * stopped for that every 5 ms, 0.15 ms each time (measured on a virtual machine), until it is.
 *
 * ptrace binds to the calling thread: one of gpuprobe does all of an injection, and ends with it. Blocks up to the deadlines.
 */
#ifndef GPUPROBE_INJECT_INJECT_H
#define GPUPROBE_INJECT_INJECT_H

#include "process/process_audit.h"
#include "process/target.h"
#include "base/err.h"

#define INJECT_REASON_BYTES 160

/* Whoever waits for an injection: asked by the thread that waits, at least 10 times a second. */
struct inject_waiting {
	void *data;
	/* what: "a thread that can be borrowed", which is waited for until then (CLOCK_MONOTONIC). False: it is given up, and not asked again. */
	bool (*goes_on)(void *data, const char *what, u64 until_ns);
};

struct inject_stacks;

/* A thread that may be borrowed, or why not. */
struct inject_thread {
	u32 tid; /* as the host sees it */
	char comm[16];
	bool usable;
	bool runs; /* it does not wait: if usable it is taken in the middle of its own code */
	bool may_run; /* when it runs it may be taken so, also where it waits now */
	bool filtered; /* by seccomp: our system calls take PTRACE_O_SUSPEND_SECCOMP */
	bool limited; /* what it waits in has a time limit: it goes on by restart_syscall */
	bool refused; /* by inject_run(), when it was stopped: it is not again before all are looked at anew */
	char reason[INJECT_REASON_BYTES]; /* "waits in epoll_wait, no malloc, loader, CUDA or Python frame on its stack" */
};

struct inject_plan {
	u32 pid;
	u64 image;			/* changes when the process starts another program: inject_image() */
	char libc_path[256];		/* as the target sees it */
	char libc_version[16];		/* "2.36" */
	u64 pthread_create_address;	/* in the target */
	u64 pthread_detach_address;
	u64 dlopen_address, dlsym_address, dlclose_address;
	u64 dlerror_address;		/* 0: there is none that goes with dlopen */
	bool dlopen_internal;		/* __libc_dlopen_mode and its like: no libdl is loaded, glibc before 2.34 */
	u64 munmap_address;
	u64 syscall_return_address;	/* of "syscall; ret" */
	u64 signal_return_address;	/* of what a signal handler returns to */
	u32 agent_libraries;		/* of earlier agents, still mapped */
	struct inject_thread *threads;	/* the usable ones first, the best first */
	size_t thread_count, usable_count;
	struct inject_stacks *stacks;	/* what tells threads apart, open until the plan is freed */
	bool with_running;		/* threads that run are usable, too: for a while none that waits was to be had */
	u32 running_ms;			/* inject_run() tries those that run for so long at most; the caller may change it */
	bool impatient;			/* by the caller: behind that it gives up, and will come again */
	u64 vdso_start, vdso_end;	/* 0: it has none */
	bool resident_page;		/* an earlier agent left its page (gpu/shared.h, AGENT_MEMFD_RESIDENT) */
	const struct inject_waiting *waiting; /* as inject_plan() got it */
	u64 given_up_ns;		/* since when nobody wants it any more; 0: somebody does */
};

/*
 * Of several gpuprobes one at a time plans and injects: whoever comes second then sees the first one's agent. ret_lock_fd
 * is the caller's to close, which gives the lock back. -EBUSY: another one held it for deadline_ms; -ECANCELED: it was given up. waiting: NULL allowed.
 */
int inject_lock(const struct target *target, u32 deadline_ms, const struct inject_waiting *waiting, int *ret_lock_fd,
		struct err *err);
/*
 * Looks and decides, for one injection; the target runs on. -EBUSY: an agent of a living gpuprobe is in it; -EOPNOTSUPP with what and
 * why: 32-bit, static or musl, no dlopen in its libc, traced, seccomp in strict mode, gVisor; -EAGAIN: no thread that is
 * safe to borrow within deadline_ms (it looks again until then). Of a plan with_running inject_run() may say yet that none could be had.
 * -ECANCELED: it was given up. waiting: NULL, or it outlives the plan.
 */
int inject_plan(const struct target *target, u32 deadline_ms, const struct inject_waiting *waiting,
		struct inject_plan *ret_plan, struct err *err);
void inject_plan_free(struct inject_plan *plan);
/* Differs from one program of a process to the next: where its stack began, which is random as a rule, and random bytes
 * that the kernel put there. 0: the process has ended. */
u64 inject_image(const struct target *target);

struct injection {
	u32 pid;
	int ring_fd;	/* of the shared memory, a file description of our own, locked (gpu/shared.h); ours to close */
	u64 code_address; /* pages that the thread runs on until it leaves */
	u64 code_bytes;
	struct process_own own;
};

/*
 * plan: its threads are looked at again while none can be borrowed. library: the agent, size bytes. ring_bytes: of the shared memory; prepare() fills it before the agent runs.
 * Success: the agent's thread was made and dlopen gave a library. Every failure leaves the target as it was, or
 * says what is left. -EAGAIN: no thread could be borrowed in time; -ESTALE: the process has started another
 * program since it was planned; -ENOEXEC: dlopen refused, with its own words; -ESRCH: the target ended; -ECANCELED: it was given up. A thread that
 * is stopped, and has done nothing for us, is then let go at once; one that has is through in some ms, or as far as it was when the time is over.
 */
int inject_run(const struct target *target, struct inject_plan *plan, const void *library, size_t library_bytes,
	       size_t ring_bytes, void (*prepare)(void *data, void *shared), void *prepare_data,
	       u32 deadline_ms, struct injection *ret_injection, struct err *err);

#endif
