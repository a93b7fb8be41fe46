/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inject/inject_breakpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/proc_file.h"
#include "base/cleanup.h"

/* By default they are ignored; to who traces a thread they show all the same. */
static const int signals[] = {SIGURG, SIGWINCH};

/* Of a line of /proc/PID/status that is a set of signals. */
static bool is_in_set(const char *status, const char *field, int number)
{
	const char *at = strstr(status, field);

	return !at || strtoull(at + strlen(field), NULL, 16) >> (number - 1) & 1;
}

/* 0: none. */
static int signal_choose(u32 pid, u32 tid)
{
	_cleanup_free_ char *status = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u/status", pid, tid);
	if (proc_file_read(AT_FDCWD, path, &status, NULL))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (!is_in_set(status, "\nSigBlk:\t", signals[i]) &&
		    !is_in_set(status, "\nSigCgt:\t", signals[i]))
			return signals[i];
	return 0;
}

/* Once it is hit the kernel sends the signal to the owner of the descriptor: the thread itself. */
static int aim(const struct inject_breakpoint *breakpoint, u32 tid)
{
	struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = (pid_t)tid};

	if (fcntl(breakpoint->fd, F_SETOWN_EX, &owner) ||
	    fcntl(breakpoint->fd, F_SETSIG, breakpoint->signal_number) ||
	    fcntl(breakpoint->fd, F_SETFL, O_ASYNC) ||
	    ioctl(breakpoint->fd, PERF_EVENT_IOC_REFRESH, 1))
		return -errno;
	return 0;
}

int inject_breakpoint_set(u32 pid, u32 tid, u64 address, struct inject_breakpoint *ret_breakpoint)
{
	struct perf_event_attr event = {.type = PERF_TYPE_BREAKPOINT,
					.size = sizeof(event),
					.bp_type = HW_BREAKPOINT_X,
					.bp_addr = address,
					.bp_len = sizeof(long),
					.sample_period = 1,
					.exclude_kernel = 1,
					.exclude_hv = 1,
					.disabled = 1};
	struct inject_breakpoint breakpoint = {.signal_number = signal_choose(pid, tid)};
	int result;

	/* To threads of other users the kernel sends signals in the name of root only; who is not does without. */
	if (geteuid())
		return -EPERM;
	if (!breakpoint.signal_number)
		return -EBUSY;
	breakpoint.fd = (int)syscall(SYS_perf_event_open, &event, tid, -1, -1,
				     (unsigned long)PERF_FLAG_FD_CLOEXEC);
	if (breakpoint.fd < 0)
		return -errno;
	breakpoint.number = breakpoint.fd;
	result = aim(&breakpoint, tid);
	if (result) {
		inject_breakpoint_clear(&breakpoint);
		return result;
	}
	*ret_breakpoint = breakpoint;
	return 0;
}

bool inject_breakpoint_is_hit(const struct inject_breakpoint *breakpoint, u32 tid,
			      int signal_number)
{
	siginfo_t info;

	return signal_number == breakpoint->signal_number &&
	       !ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) && info.si_code > 0 &&
	       info.si_fd == breakpoint->number;
}

void inject_breakpoint_clear(struct inject_breakpoint *breakpoint)
{
	cleanup_close(&breakpoint->fd);
	breakpoint->fd = -1;
}
