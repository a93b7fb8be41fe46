/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What record and check do alike before anything is attached: processes, abilities of the kernel, plan. */
#ifndef GPUPROBE_RECORDING_ATTACHMENT_H
#define GPUPROBE_RECORDING_ATTACHMENT_H

#include "probe/kernel.h"
#include "plan/plan.h"
#include "options/options.h"
#include "recording/gpu_fallback.h"

struct attachment {
	struct kernel_abilities abilities;
	bool single_probes; /* by --attach, or for want of uprobe_multi */
	struct target *targets; /* those that were asked for, then their descendants */
	size_t target_count, descendant_count;
	size_t refused_count;	/* descendants that can't be recorded, */
	struct err refused_err; /* and why the first one of them can't */
	struct gpu_fallback gpu; /* which targets get no agent, and what is probed instead */
	struct plan *plan;
	struct plan *heap_plan; /* of allocations of host memory; NULL: they are not to be recorded */
};

/* By the options pids, functions, max_functions, attach_mode, returns_mode. command_pid: a process that
 * gpuprobe started and traces, added to the targets; 0: none. Attaches nothing. */
int attachment_plan(const struct options *options, u32 command_pid, struct attachment *ret_attachment,
		    struct err *err);
/* After gpu has changed: what is probed instead of agents belongs to the plan. */
int attachment_plan_anew(const struct options *options, struct attachment *attachment, struct err *err);
/* Does the user name any: functions, USDT probes? */
bool attachment_names_probes(const struct options *options);
void attachment_free(struct attachment *attachment);

/* Is how memory grows to be recorded, and can it be? */
bool attachment_wants_growth(const struct attachment *attachment, const struct options *options);

/* "redis-server (4242), redis-server (4243)": those that were asked for, escaped for the terminal. */
struct text;
void attachment_append_targets(const struct attachment *attachment, struct text *text);
/* "redis-server (4242): 214 functions match, 209 probed (201 cheap, 8 stepped), 5 skipped", and what has
 * no durations. For people, no newline, escaped for the terminal. */
void attachment_summary(const struct attachment *attachment, struct text *text);

#endif
