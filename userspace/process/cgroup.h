/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cgroups that a process is in, of version 2 and of version 1. */
#ifndef GPUPROBE_PROCESS_CGROUP_H
#define GPUPROBE_PROCESS_CGROUP_H

#include "base/types.h"

/* That of version 2, and of version 1 that of a controller ("cpu", "freezer"), by their path below where they are mounted: "/a/b". None, where
 * that can't be told. */
void cgroup_each(u32 pid, const char *controller, void (*found)(void *data, bool unified, const char *group), void *data);
/* Where those of version 2 may be mounted, as systemd and containers have it. */
extern const char *const cgroup_unified_roots[2];

/* Is it kept from running by its cgroup, or by one above it (docker pause, systemctl freeze)? False also where that can't be told. */
bool cgroup_is_frozen(u32 pid);

#endif
