/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What happens to processes while they are recorded: a target forks a child that is to be recorded, a thread
 * that names probes ends. Attaches what then has to be attached. Main thread only.
 */
#ifndef GPUPROBE_SESSION_PROCESSES_H
#define GPUPROBE_SESSION_PROCESSES_H

#include "process/code_map.h"
#include "plan/plan.h"
#include "base/err.h"
#include "collect/bpf/bpf_source.h"
#include "session/mapped_code.h"
#include "collect/recording_facts.h"

struct processes_config {
	struct bpf_source *source;
	const struct plan *plan;
	const struct plan *heap; /* attached with it, see struct bpf_source_settings; NULL: none */
	const struct target *targets;
	size_t target_count;
	bool children;	       /* follow them */
	bool single;	       /* all probes are single ones */
	struct code_map *code; /* told who was forked by whom; the caller's */
	/* A stack leads through code that its unwind table does not know. */
	void (*on_uncovered)(void *data, u32 pid, u64 address);
	/* A process has executed another program, at ts. */
	void (*on_executed)(void *data, u32 pid, u64 ts);
	/* A thread waits for a file that is new. */
	void (*on_waited)(void *data, const struct process_event *event);
	void *data;
};

struct processes;

struct processes_status {
	u64 child_count;	/* forked by targets since they are targets, and recorded */
	u64 child_gap_count;	/* of them: calls in files that strangers map too were missed at their beginning, */
	u64 child_gap_max_ns;	/* at most for so long; */
	u64 child_ended_count;	/* they ended before anything could be attached, */
	u64 child_failed_count; /* or it could not be attached */
	u64 thread_end_count;	/* ends of threads that named single probes; */
	u64 thread_gap_max_ns;	/* the longest time without probes after one */
	u64 unheld_count; /* probes in processes whose first thread has ended, that other tracers may take out */
	u64 unknown_code_count; /* how often one had code of which it was not known what it is */
	struct mapped_code_status mapped_code;
	bool children_alive;
};

/* Makes the targets known to the BPF programs, those included that they forked since they were looked at.
 * Before anything is attached to them. */
int processes_open(const struct processes_config *config, struct processes **ret_processes,
		   struct err *err);
/* Polls readable when something happened: then call processes_handle(). */
int processes_event_fd(const struct processes *processes);
void processes_handle(struct processes *processes);
/* Some times a second: looks which children live; lets a thread take off what was attached to the others. */
void processes_tick(struct processes *processes);
struct processes_status processes_status(const struct processes *processes);
/* Facts of what happened, nothing for what did not; refused_count: children for which the BPF programs had no room. */
void processes_put_results(const struct processes_status *processes, u64 refused_count,
			   struct recording_facts *facts, struct batch *batch);
/* The names of the threads of the children that there are already, of whom the kernel told nothing: before the window. 0 or -ENOMEM. */
int processes_put_names(const struct processes *processes, struct batch *batch);
/* What the children call themselves now, those that have ended: when they were last looked at. 0 or -ENOMEM. */
int processes_put_titles(const struct processes *processes, struct recording_facts *facts,
			 struct batch *batch);
/* CPU time of the children so far, nanoseconds. */
u64 processes_cpu_time_ns(const struct processes *processes);
/* Links with this tag in all processes that have links of their own: moved to another set, to be taken off; then, but for functions
 * that are switched off, put in again. */
void processes_take_tagged(struct processes *processes, u32 tag, struct uprobe_set *to);
void processes_switch_on(struct processes *processes, u32 tag);
/* Moves what processes_detach() would take off to another set; nothing may be attached any more. */
void processes_hand_over(struct processes *processes, struct uprobe_set *to);
/* Takes everything off. */
void processes_detach(struct processes *processes);
struct processes *processes_free(struct processes *processes); /* NULL allowed; returns NULL */

#endif
