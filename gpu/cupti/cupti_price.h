/* SPDX-License-Identifier: MIT */
/*
 * What a record of an API call costs the thread that makes the call: measured on the agent's own thread, by a call that does
 * nothing (cuDriverGetVersion, cudaRuntimeGetVersion), with its record and without. CPU time. Kernels can't be measured so:
 * the agent launches none.
 */
#ifndef GPUPROBE_GPU_CUPTI_PRICE_H
#define GPUPROBE_GPU_CUPTI_PRICE_H

#include "cupti_session.h"

/* Fills cupti_facts.driver_call_ns and runtime_call_ns; 0: not measured, which needs CUPTI 12.5. Some ms. Leaves what is
 * recorded as it was, and no record. */
void cupti_price_measure(struct cupti_session *session);

#endif
