/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/arch_x86_64.h"

#include <errno.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "base/array.h"

/* The kernel's own: begin again unless a handler runs, else EINTR. */
#define ERESTARTNOHAND 514

#define EPOLL_PWAIT2 441 /* newer than the headers of some build machines */

long arch_word_with_breakpoint(long word)
{
	return (word & ~0xffL) | 0xcc;
}

bool arch_rewind_breakpoint(pid_t tid, u64 address)
{
	struct user_regs_struct registers;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &registers) || registers.rip != address + 1)
		return false;
	registers.rip = address;
	return !ptrace(PTRACE_SETREGS, tid, NULL, &registers);
}

bool arch_call_ends_by_stop(long call)
{
	static const long calls[] = {
		SYS_read,
		SYS_readv,
		SYS_recvfrom,
		SYS_recvmsg,
		/* Of files by FUSE, whose program is told of the stop. */
		SYS_stat,
		SYS_lstat,
		SYS_fstat,
		SYS_newfstatat,
		SYS_statx,
		SYS_lseek,
		SYS_recvmmsg,
		SYS_accept,
		SYS_accept4,
		SYS_epoll_wait,
		SYS_epoll_pwait,
		EPOLL_PWAIT2,
		SYS_semop,
		SYS_semtimedop,
		SYS_io_getevents,
		SYS_io_uring_enter,
		SYS_rt_sigtimedwait,
		/* With a time limit of the socket. */
		SYS_write,
		SYS_writev,
		SYS_sendto,
		SYS_sendmsg,
		SYS_sendmmsg,
		/* Where the kernel can't write down how much time is left. */
		SYS_select,
		SYS_pselect6,
		SYS_ppoll,
	};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i] == call)
			return true;
	return false;
}

void arch_restart_call(pid_t tid)
{
	struct user_regs_struct registers;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &registers) || (long)registers.rax != -EINTR ||
	    !arch_call_ends_by_stop((long)registers.orig_rax))
		return;
	registers.rax = -ERESTARTNOHAND;
	ptrace(PTRACE_SETREGS, tid, NULL, &registers);
}
