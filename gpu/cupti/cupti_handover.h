/* SPDX-License-Identifier: MIT */
/* A libcupti that the target can't open comes from gpuprobe through a memfd that the agent makes. */
#ifndef GPUPROBE_GPU_CUPTI_HANDOVER_H
#define GPUPROBE_GPU_CUPTI_HANDOVER_H

#include "../base/types.h"
#include "../shared.h"

#define CUPTI_HANDOVER_PATH_BYTES 64

/* Waits until gpuprobe has filled it. The descriptor, to be closed when the library is loaded, and the path to load it
 * by; < 0: there is none, in time or at all. */
long cupti_handover_take(struct agent_control *control, char ret_path[CUPTI_HANDOVER_PATH_BYTES]);

#endif
