/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who gets no agent, decided before anything is planned: the API calls of these processes are then recorded by probes
 * on the functions of plan/gpu_catalogue.def, as far as host_tracer_level goes.
 */
#ifndef GPUPROBE_RECORDING_GPU_FALLBACK_H
#define GPUPROBE_RECORDING_GPU_FALLBACK_H

#include "plan/plan.h"
#include "process/target.h"
#include "options/options.h"

struct gpu_fallback {
	char **refused; /* for each target: why it gets no agent; NULL: it may get one, or uses no CUDA */
	size_t target_count;
	size_t cuda_count, refused_count; /* targets that use CUDA, and those of them that get none */
	const char **patterns;		  /* to be probed beside those of -F, where there are such functions */
	size_t pattern_count;
	size_t launch_pattern_count; /* the first ones of them, for stacks at launches */
	struct plan_later_file *later; /* files of the driver that targets may map later, where stacks are taken of launches */
	size_t later_count, later_capacity;
};

/* Looks at /proc and at the threads of the targets, some ms each, 200 where none waits, 5 s where an agent is about to leave; touches nothing. command_pid: one that is started with
 * an agent; 0: none. -ENOENT: what --cupti names is not there. */
int gpu_fallback_find(const struct options *options, const struct target *targets, size_t target_count,
		      u32 command_pid, struct gpu_fallback *ret_fallback, struct err *err);
/* One more gets none; the patterns are made anew. */
int gpu_fallback_refuse(const struct options *options, size_t target, const char *why,
			struct gpu_fallback *fallback);
void gpu_fallback_free(struct gpu_fallback *fallback);

#endif
