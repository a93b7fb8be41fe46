/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes that others have started, by the parents that /proc names. */
#ifndef GPUPROBE_PROCESS_DESCENDANTS_H
#define GPUPROBE_PROCESS_DESCENDANTS_H

#include "base/err.h"
#include "base/types.h"

/* Children of the processes, their children and so on, by number, without the given ones and without
 * ourselves; those that are ending too. A process whose parent has ended is nobody's descendant any more. The
 * caller frees. */
int descendants_list(const u32 *pids, size_t pid_count, u32 **ret_pids, size_t *ret_count,
		     struct err *err);
/* Who forked it; 0: it has ended. */
u32 descendants_parent(u32 pid);

#endif
