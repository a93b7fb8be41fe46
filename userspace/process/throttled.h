/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often the cgroups of a process (cpu.max, cpu.cfs_quota_us) kept its threads from running, and for how long. */
#ifndef GPUPROBE_PROCESS_THROTTLED_H
#define GPUPROBE_PROCESS_THROTTLED_H

#include "base/types.h"

struct throttled {
	u64 times,
		ns; /* since the cgroups were made; of several that were throttled at once the sum */
};

/* Of its cgroup and of all above it, of either version. Zero where nothing limits it, or it can't be told. */
struct throttled throttled_read(u32 pid);

#endif
