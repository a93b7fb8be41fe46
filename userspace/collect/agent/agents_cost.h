/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What CUPTI recorded for the agents, and what that cost the targets' threads; and recording less of it. Main thread only. */
#ifndef GPUPROBE_COLLECT_AGENT_AGENTS_COST_H
#define GPUPROBE_COLLECT_AGENT_AGENTS_COST_H

#include "collect/agent/agents.h"

#define AGENTS_NOT_PRICED (~0ULL)

/* Of all agents, since the window opened; records come when buffers are handed over. */
struct agents_cost {
	u64 driver_calls, runtime_calls, operations;
	/* CPU time by the price that each agent measured (gpu/cupti/cupti_price.h); AGENTS_NOT_PRICED: one with records has none. */
	u64 driver_ns, runtime_ns;
	u64 converted, converting_ns; /* records, by the agents' threads, and CPU time that these took for it */
	u64 stacks, stacks_ns; /* of who calls CUDA: taken, and the time of that by some of them */
	u64 driver_call_ns, runtime_call_ns; /* the highest of these prices; 0: none was measured */
};

/* agents: NULL allowed. */
void agents_cost(const struct agents *agents, struct agents_cost *ret_cost);
/* Asks for what CUPTI has by now: it is counted some 100 ms later. */
void agents_ask_for_records(struct agents *agents);
/*
 * From now on they record no more of what (enum agent_shed), and neither do those that come later. Waits for them for at most
 * timeout_ms. When the last of them did (ns of CLOCK_MONOTONIC); now, where one did not answer.
 */
u64 agents_shed(struct agents *agents, u32 what, u32 timeout_ms);

#endif
