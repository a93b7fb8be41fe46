/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does a profiler of the target's own (gpu/cupti/cupti_users.def) know how to share CUPTI? From 13.3 on CUPTI has two families of
 * functions, and who calls one shuts the other out for the process (gpu/cupti/cupti_family.h): so the agent takes that of who is there.
 */
#ifndef GPUPROBE_COLLECT_AGENT_CUPTI_SHARERS_H
#define GPUPROBE_COLLECT_AGENT_CUPTI_SHARERS_H

#include "process/target.h"

/* By the names of functions in what it has mapped. Reads these files (of libtorch_cpu 100 MB), where the driver may
 * serve several (r610). What can't be read does not share. */
bool cupti_sharers_are_mapped(const struct target *target);

#endif
