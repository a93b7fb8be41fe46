/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process with a system call filter (seccomp) as containers have it: it refuses one call and allows all others. It waits for the end of its
 * input; exit status 0: nobody saw anything odd.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	struct sock_filter code[] = {
		{BPF_LD | BPF_W | BPF_ABS, 0, 0, 0}, /* the number of the call */
		{BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_keyctl},
		{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
		{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};
	char byte;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 2;
	printf("ready\n");
	fflush(stdout);
	return read(0, &byte, 1) == 0 ? 0 : 1;
}
