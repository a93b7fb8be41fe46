/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the name of a range or function says of steps. By its words alone: "ProfilerStep#5" is profiler, step, 5. */
#ifndef GPUPROBE_STEPS_STEP_NAME_H
#define GPUPROBE_STEPS_STEP_NAME_H

#include "base/text.h"
#include "base/types.h"

enum step_name {
	STEP_NAME_NONE,
	STEP_NAME_STEP,	     /* "step", "train_step", "training step #3", "iter 7", "ProfilerStep#5" */
	STEP_NAME_PHASE,     /* "train": a step unless it has several inside, or comes once */
	STEP_NAME_OPTIMIZER, /* "Optimizer.step#Adam.step", "fused_adam_step": once in a step, but not all of it */
	STEP_NAME_EPOCH,     /* has many steps: never one itself */
};

enum step_name step_name_class(const char *name);
/* A function's name as people write it, with namespaces, template arguments and parameters. */
enum step_name step_name_class_of_function(const char *name);
/* The last number in it; ~0: there is none. */
u64 step_name_number(const char *name);
/* The length of its first bytes without a count at their end: "step" of "step 12" and of "ProfilerStep#7", all of "layer_3". */
size_t step_name_without_count(const char *name, size_t length);
/* The same of all names in a path: "step 7/layer 3" becomes "step/layer". */
void step_name_append_path(const char *path, struct text *text);
/* What names of one series have in common: each number in it becomes '#'. */
void step_name_append_series(const char *name, struct text *text);

#endif
