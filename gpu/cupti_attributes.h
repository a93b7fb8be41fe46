/* SPDX-License-Identifier: MIT */
/* Settings of CUPTI's (CUpti_ActivityAttribute) that the agent changes for as long as it records, all of one byte. */
#ifndef GPUPROBE_GPU_CUPTI_ATTRIBUTES_H
#define GPUPROBE_GPU_CUPTI_ATTRIBUTES_H

#include "cupti_calls.h"

enum cupti_attribute {
	/* Buffers come zeroed from the client: CUPTI does not do it in the thread that launches. */
	CUPTI_ATTRIBUTE_ZEROED_OUT = 5,
};

struct cupti_attributes {
	u64 changed; /* bits */
};

/* Before buffer callbacks are registered. What this CUPTI does not know stays as it is. */
void cupti_attributes_set(struct cupti_attributes *attributes, const struct cupti_calls *calls);
bool cupti_attributes_changed(const struct cupti_attributes *attributes, enum cupti_attribute attribute);
/* As they were. */
void cupti_attributes_restore(const struct cupti_attributes *attributes, const struct cupti_calls *calls);

#endif
