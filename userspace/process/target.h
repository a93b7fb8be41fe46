/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process to be recorded, and whether that can be done at all.
 */
#ifndef GPUPROBE_PROCESS_TARGET_H
#define GPUPROBE_PROCESS_TARGET_H

#include <sys/types.h>

#include "base/err.h"
#include "base/types.h"

struct target {
	u32 pid;		/* as we and the host see it */
	u32 pid_in_namespace;	/* as the target itself sees it; the same where it has no namespace of its own */
	u32 thread;		/* one of its threads that lives: the first one, unless that has ended */
	int pidfd;		/* polls readable when the process is gone */
	int proc_fd;		/* O_PATH of /proc/PID: no race with a reused pid; without the first thread, which
				 * takes its files there along, of another one's */
	u64 start_time_ticks;	/* of /proc/PID/stat */
	char comm[16];
	char *executable;	/* path as the target sees it, without " (deleted)" */
	char root_path[32];	/* "/proc/PID/root" */
	bool first_thread_ended;
	bool other_mount_namespace, other_pid_namespace, executable_deleted;
};

/* Checks and opens. Each refusal says what, why, what to do: no such process, a thread's id (names its
 * process), a kernel thread, a zombie, a 32-bit or non-x86-64 process, no permission (names the missing
 * capability), traced by a debugger (names it). traced_by_us: gpuprobe itself traces it (-- COMMAND). */
int target_open(u32 pid, bool traced_by_us, struct target *ret_target, struct err *err);
/* A thread of the process that lives and is not `except`; 0: none. */
u32 target_living_thread(u32 pid, u32 except);
bool target_thread_lives(u32 pid, u32 thread);
void target_close(struct target *target);
/* That of this process, NULL: it is none of them. */
const struct target *target_find(const struct target *targets, size_t target_count, u32 pid);
/* A zombie, or gone. */
bool target_is_gone(const struct target *target);
/* By SIGSTOP or the like: it calls nothing now. */
bool target_is_stopped(const struct target *target);
/* CPU time of all its threads so far, nanoseconds; 0 when it is gone. */
u64 target_cpu_time_ns(const struct target *target);

/* Are we allowed to do this at all? Looks at our effective capabilities (BPF, PERFMON, SYS_PTRACE,
 * DAC_READ_SEARCH, or SYS_ADMIN / root's whole set), at our pid namespace (must be the host's), at
 * unprivileged or locked-down BPF; names what is missing and the command to run. */
int privileges_check(struct err *err);

#endif
