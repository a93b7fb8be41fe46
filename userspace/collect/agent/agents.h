/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The agents of a recording, one for each target, and later each descendant of one, that uses CUDA: put in, made ready, read, asked to leave, and
 * what they left behind compared with what was there before. An agent that fails sinks nothing: its target is
 * recorded without GPU times, which the ledger says.
 *
 * The main thread does everything but draining (agents_source), which is the drain thread's, and telling of other users of CUPTI
 * (cupti_watch.h), which has a thread of its own.
 */
#ifndef GPUPROBE_COLLECT_AGENT_AGENTS_H
#define GPUPROBE_COLLECT_AGENT_AGENTS_H

#include "inject/agent_launch.h"
#include "cuda/cupti_supply.h"
#include "cuda/gpu_target.h"
#include "cuda/nvtx_users.h"
#include "process/target.h"
#include "base/err.h"
#include "collect/agent/agent_stacks.h"
#include "collect/bpf/bpf_source.h"
#include "collect/recording_facts.h"
#include "collect/source.h"
#include "../gpu/shared.h"

#define AGENT_REPORT_BYTES 1024

struct agents;
struct python_codes;

/* Whoever has to know which threads of targets are the agents'. tids are the host's. Each may be called by the drain thread. */
struct agents_threads {
	void *data;
	/* One is about to be put into the process, or may come to be in it. */
	void (*expect)(void *data, u32 pid);
	/* The agent's own. */
	void (*own)(void *data, u32 pid, u32 tid);
	/* What this thread of the process made in this time (ns of CLOCK_MONOTONIC) it made for the agent. */
	void (*made)(void *data, u32 tid, u64 from_ns, u64 until_ns);
};

/* Whoever waits while agents are put in: asked and told by the thread that has that done. */
struct agents_waiting {
	void *data;
	bool (*given_up)(void *data); /* nobody wants it any more, and it stays so */
	/* It takes long: what is waited for, and for how long at most. Once for each of them. */
	void (*takes_long)(void *data, const struct target *target, const char *what, u64 left_ns);
};

struct agents_config {
	const struct target *targets;
	size_t target_count;
	struct agent_cupti_config cupti; /* but for what each target is supplied with */
	bool nvtx; /* ranges and marks of NVTX too */
	bool stacks; /* of who calls CUDA, too; what they are walked by comes through agents_each_stacks() */
	const char *cupti_named;	 /* --cupti; NULL: whatever fits */
	u64 ring_bytes;			 /* of one agent */
	struct agent_launch *launch;	 /* NULL: none; its lock becomes ours */
	u32 launch_pid;			 /* that of the targets which was started with it */
	bool follow; /* descendants of the targets that start CUDA later get one too: agents_follow() */
	bool late_targets; /* so do targets that had not begun it */
	const struct bpf_source *source; /* by which other users of CUPTI are noticed; outlives the agents */
	const struct agents_threads *threads; /* NULL: nobody wants to know; outlives the agents */
	const char *const *refused; /* for each target, why it gets none; NULL, or NULL for a target: it may get one */
	size_t expected_count; /* of targets that get one at the start, as far as is known: they share the time for that */
};

enum agent_outcome {
	AGENT_NOT_CUDA, /* the target does not use CUDA: nothing was done */
	AGENT_WORKS,
	AGENT_AWAITED, /* of a command: until agents_leave(), which knows whether it used CUDA */
	AGENT_REFUSED, /* it was not put in, the target was not changed: why */
	AGENT_FAILED,  /* it was put in and gives no GPU times: why */
};

/* For people and for the capture. */
struct agent_report {
	const struct target *target;
	struct gpu_target gpu;
	struct cupti_supply supply;
	enum agent_outcome outcome;
	bool late; /* it came inside the window: with a command, or in a descendant */
	bool ended_first; /* REFUSED, FAILED: its target did, before the agent had answered */
	bool no_thread; /* REFUSED: none of its threads could be borrowed then */
	u32 tries; /* to put it in, after the first */
	char why[AGENT_REPORT_BYTES]; /* REFUSED, FAILED; else a remark, or "" */
	struct agent_cupti_facts
		cupti; /* WORKS: its paths and names are as the target wrote them */
	struct nvtx_users nvtx_users; /* when it was put in; of a command none */
	struct agent_nvtx_facts nvtx;
	char others_why[AGENT_HINT_BYTES]; /* why other users of CUPTI are not noticed; "": they are */
	char stacks_why[AGENT_HINT_BYTES]; /* why none, or not all, are taken of who calls CUDA though it was asked for; "": they are */
	char nvtx_why[AGENT_HINT_BYTES]; /* why none is recorded though it was asked for; "": it is */
	/* After agents_leave(): */
	u64 lost_ns;	  /* when that was, by our clock */
	char lost_why[AGENT_HINT_BYTES]; /* WORKS: another user of CUPTI took it, since when; "": none did */
	char refused_why[AGENT_HINT_BYTES]; /* WORKS: another one asked for CUPTI while it was held here, when; "": none did */
	u32 refused; /* how often */
	u64 refused_ns; /* and when first, by our clock */
	bool silent; /* WORKS: not one record came of what the process did in the window */
	bool cut; /* it did not hand over all that CUPTI had */
	bool stuck; /* it is still in a flush of CUPTI's, which waits for the GPU: it leaves when that returns */
	bool finalizing; /* it is still in cuptiFinalize, with all handed over: it leaves when that returns */
	bool ended; /* its target did, before it was asked to leave */
	u64 executed_ns; /* its target executed another program then, and with that it is gone; 0: it did not */
	bool left_behind; /* something with our name is still in the target that it did not speak of in `why` */
	bool audit_is_plain; /* nothing of ours runs or is open there, and there are no more threads and descriptors than before */
	char audit[AGENT_REPORT_BYTES]; /* what the target has, before and after, in words; "": it has ended */
};

/* Begins to look, by a thread, for what takes long to find and needs nothing but the targets' memory: users of NVTX. The targets are
 * left as they are. config.source and config.threads come later. Only -ENOMEM is an error. */
int agents_create(const struct agents_config *config, struct agents **ret_agents, struct err *err);
/* No agent takes stacks; why stays the caller's. Before they start. */
void agents_refuse_stacks(struct agents *agents, const char *why);
/* Where code objects of Python go that agents tell of: the drain thread's. Before they start. */
void agents_set_python(struct agents *agents, struct python_codes *codes);
/* Injects into every target that uses CUDA. Blocks some ms for each, up to 6 s where none of its threads can be borrowed (15 s for all of them, but at
 * least one for each), until it is given up. source, threads: as in the configuration. waiting: NULL, or it lasts as long as agents are put in, by
 * agents_follow() too. */
void agents_start(struct agents *agents, const struct bpf_source *source,
		  const struct agents_threads *threads, const struct agents_waiting *waiting);
/* Of those without an answer that it takes long, until then at most. */
void agents_say_unanswered(struct agents *agents, u64 until_ns);
/* Have all of them an answer (ready, failed, gone)? Cheap: to be asked every few ms, some s at most when a
 * target starts CUPTI for the first time. */
bool agents_all_answered(struct agents *agents);
/* Time is over: those without an answer have failed. */
void agents_give_up(struct agents *agents);
size_t agents_count(const struct agents *agents); /* one for each target, then those of descendants */
const struct agent_report *agents_report(const struct agents *agents, size_t index);
/* Its target lives, and is recorded without GPU times. */
bool agent_report_failed(const struct agent_report *report);
/* It came late, and its target ended before it could record anything, or before one that had no thread to be borrowed was asked again. */
bool agent_report_ended_first(const struct agent_report *report);
/* Records that were lost in them so far. NULL is allowed. */
u64 agents_lost(const struct agents *agents);

/* The texts and facts of the agents that work. After agents_all_answered(). */
int agents_put_facts(struct agents *agents, struct recording_facts *facts, struct batch *batch);
/* Those of the agents that came late, and of the processes that they are in; after the drain thread. */
int agents_put_late_facts(struct agents *agents, struct recording_facts *facts, struct batch *batch);
/* Why what of them is missing, behind those. After agents_leave(). */
int agents_put_failures(struct agents *agents, struct recording_facts *facts, struct batch *batch);
/* Those that may take stacks: what process each is in, and by what it walks them. */
void agents_each_stacks(struct agents *agents, void (*each)(void *data, u32 pid, struct agent_stacks *stacks), void *data);
/* Nothing that ended before it opened or began after it closed is recorded. */
void agents_open_window(struct agents *agents, u64 now_ns);
void agents_close_window(struct agents *agents, u64 now_ns);
/*
 * Inside the window, some times a second: puts agents into targets and descendants of them that have mapped the driver and
 * have none. May block 2 s for each, and 0.5 s where threads run that can't be taken.
 */
void agents_follow(struct agents *agents);
bool agents_follows(const struct agents *agents);
/* Descendants of a command in which the driver is mapped, and into which it loaded no agent; ret_example: one of them. */
size_t agents_unreached(const struct agents *agents, u32 *ret_example);
/* A process executed another program, at ts: its agent is gone. */
void agents_note_exec(struct agents *agents, u32 pid, u64 ts);
/* A process has mapped the driver: if it is a descendant for which no agent was tried, agents_follow() looks at once. */
void agents_hurry(struct agents *agents, u32 pid);
/* Behind the window: the same of one that did so itself, and has not got it from who forked it. If no agent was tried it is counted: it ended too
 * soon, or began too late. */
void agents_note_driver(struct agents *agents, u32 pid);
/* Those, and those that ended while an agent was tried; ret_example: one of them. */
size_t agents_unmet(const struct agents *agents, u32 *ret_example);
/* Processes that start CUDA and get no agent, since there are too many of them. */
u64 agents_turned_away(const struct agents *agents);
/* For the drain thread. */
struct record_source agents_source(struct agents *agents);
/* Asks all to leave and waits until they have, or timeout_ms; the drain thread must still run. */
void agents_leave(struct agents *agents, u32 timeout_ms);
/* Other users of CUPTI are not noticed any more; left: the probes for it, the caller's to take off. When the drain thread has ended, which
 * meets agents until then. */
void agents_watch_end(struct agents *agents, struct uprobe_set *left);

struct agents *agents_free(struct agents *agents); /* NULL allowed; returns NULL */

#endif
