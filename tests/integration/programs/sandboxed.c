/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls probed functions under the strictest filter of system calls: read, write, exit, sigreturn. */
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <linux/seccomp.h>
#include <unistd.h>

#include "leaf_and_outer.h"
#include "protocol.h"

int main(void)
{
	unsigned long failures = 0;

	protocol_begin();
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return 1;
	for (long i = 0; i < 1000; i++)
		failures += outer(i) != 2 * (i + 1);
	protocol_count("outer", 1000);
	protocol_count("leaf", 2000);
	protocol_count("failures", failures);
	protocol_end();
	syscall(SYS_exit, 0);
}
