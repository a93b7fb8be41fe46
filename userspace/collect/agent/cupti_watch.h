/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Other users of CUPTI in processes with an agent (torch.profiler, ...), noticed at the calls by which they begin: probes
 * on the functions of gpu/cupti/cupti_watched.def, whose hits a thread of its own hands on to the agent, some tens of
 * microseconds later, whatever the other threads do. Which calls are the agent's own is told by the address that they
 * return to.
 */
#ifndef GPUPROBE_COLLECT_AGENT_CUPTI_WATCH_H
#define GPUPROBE_COLLECT_AGENT_CUPTI_WATCH_H

#include "process/target.h"
#include "collect/bpf/bpf_source.h"
#include "../gpu/shared.h"

struct cupti_watch;

/* The thread runs from now on. The source outlives it. */
int cupti_watch_open(const struct bpf_source *source, struct cupti_watch **ret_watch, struct err *err);
/* Probes on each libcupti that the process has mapped by now and that has none yet. Before the agent is put in, and again when
 * it has mapped one. Any thread. Blocks some ms. 0, or -errno: its other users are not noticed. */
int cupti_watch_process(struct cupti_watch *watch, const struct target *target, struct err *err);
/* Whom to tell, from now on and what came since the probes are there. */
void cupti_watch_tell(struct cupti_watch *watch, const struct target *target, struct agent_control *control,
		      s64 clock_shift_ns);
/* The thread ends; its probes are still there, and left has them: the caller's to take off. NULL allowed. */
struct cupti_watch *cupti_watch_close(struct cupti_watch *watch, struct uprobe_set *left);

#endif
