/* SPDX-License-Identifier: MIT */
/*
 * How long the activity records of the CUPTI at hand are. Its version does not say (11.8, 12.0 and 12.1 all call
 * themselves 18), so they are measured.
 */
#ifndef GPUPROBE_GPU_CUPTI_SIZES_H
#define GPUPROBE_GPU_CUPTI_SIZES_H

#include "cupti_calls.h"

/* record_bytes: AGENT_ACTIVITY_KINDS of them; what could not be measured, or has no rows in our table, is 0. */
void cupti_sizes_measure(const struct cupti_calls *calls, u32 version, u16 *record_bytes);

#endif
