/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stages of a program's input on the host (reading, preprocessing, copying to the GPU), known by the names of ranges and calls: the table
 * input_stages.def.
 */
#ifndef GPUPROBE_EXPORTERS_XPLANE_INPUT_STAGES_H
#define GPUPROBE_EXPORTERS_XPLANE_INPUT_STAGES_H

#include "base/map.h"
#include "view/view.h"

enum input_stage {
	INPUT_STAGE_NONE,
	INPUT_STAGE_READ,
	INPUT_STAGE_PREPROCESSING,
	INPUT_STAGE_ENQUEUE,
	INPUT_STAGE_OTHER,
};

/* Names that were looked at: zero-initialise. */
struct input_stages {
	struct map known; /* (name's address, kind) -> stage */
};

/* 0 or -ENOMEM. */
int input_stages_find(struct input_stages *stages, const struct view_event *event, enum input_stage *ret_stage);
void input_stages_free(struct input_stages *stages);

/* The same of a name, unremembered. kind: KIND_range, KIND_call, ... */
enum input_stage input_stage_of_name(const char *name, u16 kind);

#endif
