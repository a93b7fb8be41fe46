/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clocks of a process in a time namespace of its own. */
#ifndef GPUPROBE_PROCESS_TIME_NAMESPACE_H
#define GPUPROBE_PROCESS_TIME_NAMESPACE_H

#include "process/target.h"

/* What is added to CLOCK_MONOTONIC of the target to get the host's; 0 where they are the same. */
s64 time_namespace_shift_ns(const struct target *target);

/* How far CLOCK_MONOTONIC of this process is ahead of the kernel's, which BPF programs read; 0: it is that one. */
s64 time_namespace_own_offset_ns(void);

#endif
