/* SPDX-License-Identifier: MIT */
/* Recording less inside the window, when it costs more than it may. */
#ifndef GPUPROBE_GPU_CUPTI_SHED_H
#define GPUPROBE_GPU_CUPTI_SHED_H

#include "cupti_session.h"

/* Does what control->shed_wanted (enum agent_shed) asks for and was not done yet; then control->shed_ns is when. */
void cupti_shed(struct cupti_session *session);

#endif
