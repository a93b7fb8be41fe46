/* SPDX-License-Identifier: MIT */
/* The setting of CUPTI's (CUpti_ActivityAttribute) that the agent changes for as long as it records: buffers come zeroed from
 * the client, so that CUPTI does not zero them in the thread that launches. It holds for everybody's buffers. */
#ifndef GPUPROBE_GPU_CUPTI_ATTRIBUTES_H
#define GPUPROBE_GPU_CUPTI_ATTRIBUTES_H

#include "cupti_calls.h"

/* Before buffer callbacks are registered. false: it stays as it is, since this CUPTI does not know it, or it is set already. */
bool cupti_attributes_zero_ourselves(const struct cupti_calls *calls);
/* As it was before that returned true. */
void cupti_attributes_zero_no_more(const struct cupti_calls *calls);

#endif
