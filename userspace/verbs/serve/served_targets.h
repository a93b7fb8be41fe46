/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes that serve records when it is asked to. Nothing of them is held open in between: they are known by the
 * time of their start, so that another process that has got the number of one that ended is not taken for it.
 */
#ifndef GPUPROBE_VERBS_SERVE_SERVED_TARGETS_H
#define GPUPROBE_VERBS_SERVE_SERVED_TARGETS_H

#include "base/text.h"
#include "options/options.h"

struct served_target {
	u32 pid;
	u64 start_time_ticks;
	char comm[16];
};

struct served_targets {
	struct served_target *items;
	size_t count;
};

/* Refuses what record would refuse now. */
int served_targets_note(const struct options_pids *pids, struct served_targets *ret_targets,
			struct err *err);
/* Are they there yet, the same ones? */
int served_targets_check(const struct served_targets *targets, struct err *err);
/* "train (4242), train (4243)" */
void served_targets_append(const struct served_targets *targets, struct text *text);
void served_targets_free(struct served_targets *targets);

#endif
