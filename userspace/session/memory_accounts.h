/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The accounts of GPU memory that the BPF programs keep by the functions that allocate it, in processes without an
 * agent: of which processes, and what their memory is drawn as.
 */
#ifndef GPUPROBE_SESSION_MEMORY_ACCOUNTS_H
#define GPUPROBE_SESSION_MEMORY_ACCOUNTS_H

#include "collect/agent/agents.h"
#include "collect/bpf/bpf_source.h"
#include "collect/recording_facts.h"

/* Fills what a source has to know before it is opened. */
void memory_accounts_configure(const struct plan *plan, struct bpf_source_settings *settings);
/* Leaves the processes with an agent to it; before anything is attached. agents: NULL: there are none. */
int memory_accounts_leave_to_agents(struct bpf_source *source, const struct agents *agents,
				    struct err *err);
/* Before the window opens, behind recording_facts_plan(). 0 or -ENOMEM. */
int memory_accounts_put_facts(struct bpf_source *source, const struct plan *plan,
			      struct recording_facts *facts, struct batch *batch);

#endif
