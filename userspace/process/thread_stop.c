/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/thread_stop.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "process/arch_x86_64.h"
#include "base/clock.h"

#define FIRST_PAUSE_NS (20 * 1000)
#define LAST_PAUSE_NS  (1000 * 1000)

/* 1 when it has stopped, 0 while it runs, -ESRCH. Leaves what it found to be waited for: the end of a command
 * that we started is for who started it. */
static int has_stopped(u32 tid, struct thread_stop *stop)
{
	siginfo_t info = {0};

	if (waitid(P_PID, tid, &info, WSTOPPED | WEXITED | WNOWAIT | WNOHANG | __WALL))
		return -ESRCH;
	if (!info.si_pid)
		return 0;
	if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
		return -ESRCH;
	/* The low byte is the signal, the next one says when it is none. */
	stop->signal = info.si_status >> 8 ? 0 : info.si_status;
	return 1;
}

static int wait_for_stop(u32 tid, u64 timeout_ns, struct thread_stop *stop)
{
	u64 end_ns = clock_monotonic_ns() + timeout_ns;
	struct timespec pause = {.tv_nsec = FIRST_PAUSE_NS};
	int result;

	while (!(result = has_stopped(tid, stop))) {
		if (clock_monotonic_ns() >= end_ns)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < LAST_PAUSE_NS)
			pause.tv_nsec *= 2;
	}
	return result < 0 ? result : 0;
}

int thread_stop(u32 tid, u64 timeout_ns, struct thread_stop *ret_stop)
{
	struct thread_stop stop = {.tid = tid};
	int result;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) || ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
		return -errno;
	result = wait_for_stop(tid, timeout_ns, &stop);
	if (result)
		return result;
	/* Also where a signal is why it stopped: one that is ignored would not have ended the call, if nobody had traced the thread. */
	arch_restart_call(tid);
	*ret_stop = stop;
	return 0;
}

void thread_go_on(const struct thread_stop *stop)
{
	ptrace(PTRACE_DETACH, stop->tid, NULL, (void *)(uintptr_t)stop->signal);
}
