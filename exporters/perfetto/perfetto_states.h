/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * States of threads, as Perfetto's own tables have them (thread_state, sched): a wait is a thread that sleeps, becomes runnable, by whom, and runs
 * again on a CPU. Between waits it is told to run: what was too short to be recorded is in that.
 */
#ifndef GPUPROBE_EXPORTERS_PERFETTO_PERFETTO_STATES_H
#define GPUPROBE_EXPORTERS_PERFETTO_PERFETTO_STATES_H

#include "exporters/perfetto/perfetto_packets.h"
#include "view/view.h"

/* Zero-initialise. */
struct perfetto_states {
	struct map cpus; /* tid -> 1 + the CPU where it was said to run last */
};

/* Nothing for what is no wait, or a wait of which no CPU is known. */
int perfetto_states_write(struct perfetto_states *states, struct perfetto_packets *packets,
			  const struct view_event *event, struct err *err);
void perfetto_states_free(struct perfetto_states *states);

#endif
