/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files that make the agents share among themselves. */
#ifndef GPUPROBE_COLLECT_AGENT_AGENTS_PARTS_H
#define GPUPROBE_COLLECT_AGENT_AGENTS_PARTS_H

#include <pthread.h>

#include "inject/inject.h"
#include "process/process_audit.h"
#include "collect/agent/agent_ring.h"
#include "collect/agent/agent_threads.h"
#include "collect/agent/agents.h"
#include "collect/agent/cupti_watch.h"

struct agent {
	const struct target *target;
	struct agent_report report;
	struct injection injection;
	struct agent_control *control; /* NULL: none was put in */
	struct agent_ring *ring;
	struct agent_threads threads;
	struct process_audit before;
	s64 clock_shift_ns; /* to the host's clock */
	const struct agent_launch *launch; /* NULL: put in by force; else the ring waits for the command */
	u32 ring_number;		   /* in the file */
	struct target taker; /* a process that was no target at first: a descendant; pid 0: there is none */
	struct map tasks;    /* late: threads of it that were told of, by tid */
	u64 tasks_ns;	     /* when */
	bool kineto_seen; /* a library has come whose profiler may ask for CUPTI, and the agent was told */
	bool to_watch; /* for other users of CUPTI: it was just met */
	u32 source;
	u32 place;	/* text id (tool) for the ledger */
	u64 started_ns; /* when it began to be put in, */
	u64 put_in_ns;	/* and when it was; 0: it was not */
	struct nvtx_watch nvtx_watch;
	struct agent_stacks stacks;
	bool nvtx_searched; /* before it was put in; the report has who uses it */
	const char *told; /* of what it is known that it waits for it; NULL: of nothing */
	bool answered;
};

/* Of a target, before it has an agent. */
struct nvtx_search {
	struct nvtx_watch watch;
	struct nvtx_users users;
	bool done;
};

#define AGENTS_FOLLOWED_MAX 256

struct agents {
	struct agents_config config;
	struct agent *agents; /* one for each target; then those of descendants, which stay where they are */
	const char *stacks_why; /* why no agent takes stacks though they were asked for; NULL: it may */
	struct python_codes *codes; /* the drain thread's; NULL: there are none */
	size_t count, capacity; /* count: grows while the drain thread reads */
	struct nvtx_search *searches; /* of each target, the searcher's until it is joined */
	pthread_t searcher;
	bool is_searching;
	pid_t pid; /* whose they are: a fork has copies */
	u32 chunk_count;
	u64 reclaimed_ns;
	u64 window_start_ns, window_end_ns;
	const struct agents_waiting *waiting; /* NULL: nobody is asked or told */
	u64 start_until_ns;   /* all that are put in at the start share that time, */
	size_t expected_left; /* and these are still to be; 0: more than were expected */
	u64 said_ns; /* when it was said last that it takes long, or it began */
	u64 followed_ns; /* when it was last looked for descendants */
	u32 shed;	 /* enum agent_shed: what is not recorded any more */
	struct cupti_watch *watch; /* NULL: other users of CUPTI are not noticed, */
	struct err watch_why;	   /* for this reason */
	u64 turned_away; /* processes for which there was no room */
	u32 place;	 /* text id (tool): of these and those, for the ledger */
	size_t unmet;	 /* agents_unmet(), */
	u32 unmet_example;
	struct map unreached; /* agents_unreached(): when they were found so, first and last, by pid */
};

size_t agents_ring_bytes(const struct agents *agents);
/* The place of the next one, filled in; NULL: there is no room. It counts from agents_count_in() on. */
struct agent *agents_next(struct agents *agents, const struct target *target);
void agents_count_in(struct agents *agents);
/* Puts it in, where the target uses CUDA. why: it gets none; else NULL. */
void agents_start_one(struct agents *agents, struct agent *agent, const char *why);

/* What the agent finds in its memory when it begins. */
void agents_fill_control(const struct agents *agents, const struct agent *agent, struct agent_control *control);
/* The memory of the ring, that stands in injection.ring_fd. */
int agents_map_control(struct agents *agents, struct agent *agent, struct err *err);
/* The reader of it: records are those of the process. */
int agents_create_ring(struct agents *agents, struct agent *agent, const struct target *process);

/* A string of the target: it may have no end, and anything in it. */
void agents_copy_string(char *to, size_t to_bytes, const char *from, size_t from_bytes);
/* It gives no GPU times: why. */
void agents_fail(struct agent *agent, const char *why);

/* The one that was put in; false where its number is not known. */
static inline bool agents_thread_has_ended(const struct agent *agent)
{
	u32 tid = agent->injection.own.tid;

	return tid && !target_thread_lives(agent->target->pid, tid);
}

static inline u32 agents_state(const struct agent *agent)
{
	return __atomic_load_n(&agent->control->fixed.state, __ATOMIC_ACQUIRE);
}

/* The one that took the ring, where that is another than the one that was started with it. */
static inline const struct target *agents_process(const struct agent *agent)
{
	return agent->taker.pid ? &agent->taker : agent->target;
}

static inline u64 agents_counter(const struct agent *agent, enum agent_counter counter)
{
	return __atomic_load_n(&agent->control->counters[counter], __ATOMIC_RELAXED);
}

/* ---- agents_waiting.c ---- */

bool agents_given_up(const struct agents *agents);
struct agents_put_in {
	struct agents *agents;
	struct agent *agent;
	u64 until_ns; /* of all of it; 0: of what is waited for just now */
};
/* Of struct inject_waiting; data: struct agents_put_in. */
bool agents_put_in_goes_on(void *data, const char *what, u64 until_ns);

/* ---- agents_answer.c ---- */

/* Has it said by now whether it works? Then the report has its answer. */
void agents_look_for_answer(const struct agents *agents, struct agent *agent);
/* What it says of stacks of calls of CUDA goes into the report. */
void agents_stacks_report(const struct agents *agents, struct agent *agent);

/* ---- agents_leave.c ---- */

/* It has, or its process is gone; an agent that is still to leave uses the ring. */
bool agents_has_left(const struct agent *agent);

/* ---- agents_threads.c: telling which threads are theirs ---- */

void agents_expect_threads(const struct agents *agents, const struct agent *agent);
/* When it was put in, or has taken its ring. */
void agents_tell_threads(const struct agents *agents, struct agent *agent);

/* ---- agents_others.c ---- */

/* Probes on what CUPTI the process has by now; where that fails, the report says so. */
void agents_others_watch(struct agents *agents, struct agent *agent);
/* Its agent is told of them from now on. */
void agents_others_tell(struct agents *agents, struct agent *agent);
/* Looks whether such a library has come; now and then. Reads what is mapped. */
void agents_others_look(struct agent *agent);
/* What came of them goes into the report. After it has left. */
void agents_others_read(const struct agents *agents, struct agent *agent);

/* ---- agents_nvtx.c ---- */

/* Begins to look for who uses NVTX in the targets. 0 or -ENOMEM. */
int agents_nvtx_search(struct agents *agents);
/* Waits for it. */
void agents_nvtx_wait(struct agents *agents);
void agents_nvtx_free(struct agents *agents);
/* What was found in this target is its agent's. */
void agents_nvtx_take(struct agents *agents, struct agent *agent, size_t target);
/* Who uses NVTX, before the agent is put in, unless that is known; it finds it in its memory when it begins. */
void agents_nvtx_begin(const struct agents *agents, struct agent *agent);
void agents_nvtx_fill(const struct agents *agents, const struct agent *agent, struct agent_control *control);
/* What the agent says of it goes into the report. */
void agents_nvtx_report(struct agent *agent);
/* Who does so by now. Blocks for some ms. */
void agents_nvtx_look(const struct agents *agents, struct agent *agent, const struct target *process);

/* ---- agents_losses.c ---- */

/* struct record_source.add_losses; data: struct agents. */
int agents_add_losses(void *data, struct batch *batch);

/* ---- agents_ends.c ---- */

/* What of its process is recorded no more, as facts: the same each time. 0 or -ENOMEM. */
int agents_put_ends(const struct agents *agents, const struct agent *agent, struct batch *batch);

/* ---- agents_launched.c ---- */

/* Before the command runs: its own agent, and those of its descendants. */
int agents_launched_start(struct agents *agents, struct agent *agent, struct err *err);
/* The drain thread's: has somebody taken the ring? Then it can be read, and the callback is told of its threads, now
 * and then; of followed ones too. 0 or a negative result. */
int agents_late_look(struct agents *agents, struct agent *agent, record_callback callback, void *callback_data);
/* Of those that were met, one at a time is watched for other users of CUPTI from now on: that takes some ms, on a busy machine 100,
 * and a process that ends waits to be met. */
void agents_late_watch(struct agents *agents);
/* Nobody takes it any more: NOT_CUDA, or, of one that was taken, still AWAITED. */
void agents_launched_end(struct agents *agents, struct agent *agent);

#endif
