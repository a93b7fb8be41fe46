/* SPDX-License-Identifier: MIT */
#include "worker_names.h"

#include <sys/prctl.h>
#include <sys/syscall.h>

#include "arch_x86_64.h"
#include "../shared.h"

void worker_names_begin(struct worker_names *names)
{
	*names = (struct worker_names){{0}};
	arch_syscall(SYS_prctl, PR_GET_NAME, (long)names->before, 0, 0, 0, 0);
	arch_syscall(SYS_prctl, PR_SET_NAME, (long)AGENT_WORKER_NAME, 0, 0, 0, 0);
}

void worker_names_end(const struct worker_names *names)
{
	arch_syscall(SYS_prctl, PR_SET_NAME, (long)names->before, 0, 0, 0, 0);
}
