/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/array.h"
#include "process/arch_x86_64.h"

/* Reading, or a folder; nothing that makes, cuts or writes. */
#define OPEN_FORBIDDEN (O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND)

#define LOAD(field)	 BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ALLOW		 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE		 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define END		 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define UNLESS(value, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, n)

int sandbox_enter(int result_fd)
{
	/* Arguments are compared by their lower halves: the kernel takes descriptors and flags as ints. */
	struct sock_filter filter[] = {
		LOAD(arch),
		UNLESS(ARCH_AUDIT, 2),
		LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, ARCH_OTHER_CALLS_FROM, 0, 1),
		END,
#define SANDBOX_CALL(name) UNLESS(SYS_##name, 1), ALLOW,
#include "process/sandbox.def"
#undef SANDBOX_CALL
		UNLESS(SYS_openat, 4),
		LOAD(args[2]),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, OPEN_FORBIDDEN, 1, 0),
		ALLOW,
		REFUSE,
		UNLESS(SYS_write, 3),
		LOAD(args[0]),
		UNLESS((u32)result_fd, 1),
		ALLOW,
		REFUSE,
	};
	struct sock_fprog program = {.len = ARRAY_SIZE(filter), .filter = filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
		return -errno;
	return 0;
}
