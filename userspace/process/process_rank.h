/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which one of several like it a process is, as torchrun, MPI or Slurm told it in the environment that it began with; what it told itself later
 * (torch.multiprocessing.spawn) is not there. Numbers are all that is kept of an environment: it may hold what nobody else shall see.
 */
#ifndef GPUPROBE_PROCESS_PROCESS_RANK_H
#define GPUPROBE_PROCESS_PROCESS_RANK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

#define PROCESS_RANK_UNKNOWN (~0U)

struct process_rank {
	u32 rank, world_size; /* rank < world_size */
	u32 local_rank; /* on its machine; PROCESS_RANK_UNKNOWN: not known */
};

/* False: it has none, or can't be read. */
bool process_rank_read(u32 pid, struct process_rank *ret_rank);
/* environment: as in /proc/PID/environ, NUL behind each variable and one more. */
bool process_rank_find(const char *environment, size_t size, struct process_rank *ret_rank);

#endif
