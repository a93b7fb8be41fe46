/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The agents of a command that gpuprobe starts itself: the driver loads one (CUDA_INJECTION64_PATH) in each process, the
 * command or a descendant, that starts CUDA. Library, rings and a libcupti are memfds that the command inherits;
 * nothing lies on a disk.
 */
#ifndef GPUPROBE_INJECT_AGENT_LAUNCH_H
#define GPUPROBE_INJECT_AGENT_LAUNCH_H

#include <stddef.h>

#include "process/target.h"
#include "base/err.h"
#include "base/types.h"

/* So many processes of a command are recorded; memory that nobody writes to costs nothing. */
#define AGENT_LAUNCH_RINGS 32

struct agent_launch {
	int library_fd, cupti_fd, ring_fd; /* the command inherits them; the rings are empty memory */
	int lock_fd;			   /* a description of the rings of our own, locked (gpu/shared.h) */
	u64 ring_bytes;			   /* of one ring, its control block included */
};

/* shared_bytes: of one ring, behind its control block. -EBUSY: another tool's CUDA_INJECTION64_PATH is in our environment, which is named. */
int agent_launch_open(u64 shared_bytes, struct agent_launch *ret_launch, struct err *err);
/* The agents that wait find nobody any more. */
void agent_launch_close(struct agent_launch *launch);
/* In the child, before exec: descriptors and environment. data: the struct agent_launch. May be called by vfork. */
void agent_launch_in_child(void *data);
/* Before the command, process pid, runs: the bytes of the file open as fd become the libcupti that it inherits. path: of that
 * file, for errors. ret_path: by what name the agent is to load it. */
int agent_launch_hand_over(struct agent_launch *launch, u32 pid, int fd, const char *path, char *ret_path,
			   size_t path_bytes, struct err *err);
/* The process, as the host sees it, that has taken a ring with this thread of its pid namespace: the command or one
 * of its descendants. 0: not found, or gone. */
u32 agent_launch_taker(const struct agent_launch *launch, u32 ring, u32 command_pid, u32 agent_tid);
/* Was this process given the environment by which the driver finds the agent? */
bool agent_launch_reaches(const struct target *process);
/* Is an agent's library mapped in it: its own, or that of the process that it was forked from? */
bool agent_launch_has_library(const struct target *process);

#endif
