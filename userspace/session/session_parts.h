/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files that make a session share among themselves. */
#ifndef GPUPROBE_SESSION_SESSION_PARTS_H
#define GPUPROBE_SESSION_SESSION_PARTS_H

#include <pthread.h>
#include <signal.h>

#include "collect/bpf/bpf_record_source.h"
#include "session/budget.h"
#include "session/calibrate.h"
#include "collect/agent/agents_cost.h"
#include "collect/capture_thread.h"
#include "session/code_facts.h"
#include "collect/drain.h"
#include "collect/bpf/function_counts.h"
#include "session/guardian.h"
#include "collect/bpf/heap_counts.h"
#include "collect/gpu_counters.h"
#include "session/process_memory.h"
#include "session/overhead.h"
#include "session/own_threads.h"
#include "session/pythons.h"
#include "collect/recording_facts.h"
#include "session/session.h"
#include "session/unwinding.h"
#include "session/watched_code.h"

#define SESSION_DEPARTING_MAX 16

struct session {
	const struct session_config *config;
	struct bpf_source *source;
	struct bpf_drained records;
	struct gpu_counters *gpu_counters; /* NULL: no target has an agent */
	struct process_memory memory;
	struct heap_counts heap;
	struct processes *processes;
	struct batch_queue *queue;
	struct capture_thread *capture;
	struct drain *drain;
	struct recording_facts facts;
	struct code_facts code;
	struct unwinding *unwinding; /* NULL: no stacks are taken */
	struct pythons pythons;
	bool python_told; /* that frames of Python are not read */
	u64 unknown_code_count;	     /* so often it was told that there is code that is not known */
	u64 code_look_next_ns;	     /* when it may be looked at again for that */
	struct stack_addresses stacks;	  /* the drain thread's until it is joined, */
	struct kernel_texts kernels;	  /* and so are these, */
	struct system_calls system_calls; /* and these */
	struct own_threads own;
	struct calibration calibration;
	pthread_t calibrator;
	bool calibrates; /* it runs */
	int calibrate_result;
	struct uprobe_set own_links; /* with which it measured; until the guardian has them */
	struct function_counts counts;
	struct overhead *overhead; /* NULL: what it costs is not known */
	u64 looked_ns;		   /* when it was last looked at as a whole; 0: never */
	struct budget_streak streak;
	/* All stacks of launches are taken just now, until they cost too much, or have had their share of the window. */
	bool launches_by_price, launches_first;
	u64 launches_end_ns;	  /* since when not all are for that; 0: they are */
	bool api_probed;  /* session_api_look() is wanted, */
	u64 api_look_ns;  /* when next; */
	u64 api_cpu_ns;	  /* the targets' CPU time in the window at the mark that costs count from, */
	u64 api_mark_ns;  /* which was then */
	bool budget_open; /* probes may be switched off now */
	bool samples_ended;
	struct err samples_error; /* why there are no samples, which were to be; else empty */
	struct session_departing *departing[SESSION_DEPARTING_MAX]; /* links that threads take off */
	size_t departing_count;
	struct watched_code watched;  /* what session_code_writes.c watches */
	u32 code_unforgotten;	      /* so often breakpoints were overwritten that the kernel may put back still */
	u64 repaired_count; /* first bytes of what targets wrote, that the kernel had overwritten */
	u32 shed;	  /* enum agent_shed: what of the GPU side was switched off */
	int epoll_fd, signal_fd, timer_fd;
	struct guardian *guardian;
	sigset_t old_signals;
	u64 window_start_ns, window_end_ns, cpu_start_ns;
	u64 unstored_count; /* records for which there was no memory */
	size_t targets_alive;
	bool *target_ended;
	bool agents_left;
	struct session_waited *waited; /* NULL: nothing was told yet */
	struct session_throttled *throttled; /* by target; NULL: not looked at yet */
	struct agents_waiting agents_waiting;
	u64 agents_lost_count; /* that result.status.lost_count has of theirs */
	bool detached, returns_put_back;
	size_t links_handed; /* to the guardian, to be closed */
	u64 detach_end_ns;   /* until when that is waited for */
	struct session_result result;
};

/* ---- session_agents.c ---- */

/* Puts the agents in and waits for their answers; a signal ends that, and later the recording. -ECANCELED: one that is needed failed, and
 * result.agents_failed is set. */
int session_start_agents(struct session *session, struct err *err);

/* ---- session_facts.c ---- */

/* Before the window opens. 0 or -ENOMEM. */
int session_put_first_facts(struct session *session, struct batch *batch);
/* When all rings are drained: calls, spans and waits that are open, sums, losses, failures, what it cost. Best effort. */
void session_put_last_facts(struct session *session, struct batch *batch);

static inline bool session_takes_stacks(const struct session_config *config)
{
	const struct recording_settings *settings = config->settings;

	return settings->off_cpu || settings->growth || settings->call_stacks ||
	       settings->usdt_stacks || plan_takes_launch_stacks(config->plan) ||
	       settings->launch_stacks_by_agent || config->heap_plan || settings->sample_period_ns;
}

/* ---- session_code.c ---- */

/* Begins to read the unwind tables of what the targets map, which goes on while they are attached to; */
int session_unwind(struct session *session, struct err *err);
/* and hands them to the source, from when it is there. */
void session_unwind_by(struct session *session);
/* And to the agents that take stacks, as far as they have not got them; what can't be had in this time comes with the next look. */
void session_unwind_agents(struct session *session, u64 timeout_ns);
/* Waits for them, not for long. */
void session_unwind_wait(struct session *session);
/* That frames of Python are not read, once. */
void session_tell_of_python(struct session *session);
/* What the targets map, as code_facts_look(), for the names in stacks and for their unwind tables. */
void session_look_at_code(struct session *session, bool always);
/* The same, where the processes say that there is something, and it was not looked at just now. */
void session_look_at_unknown_code(struct session *session);
/* Some times a second: the same, and where the amount of code has changed. */
void session_look_at_any_code(struct session *session);

/* A process has executed another program, at ts; data: the session. */
void session_on_executed(void *data, u32 pid, u64 ts);
/* A stack leads through code that its unwind table does not know; data: the session. */
void session_on_uncovered_code(void *data, u32 pid, u64 address);

/* ---- session_throttled.c ---- */

/* Reads what the cgroups of the targets kept from them by now; the first time is when the window opens. */
void session_throttled_look(struct session *session);
/* What they kept from them in the window, as attributes. */
void session_throttled_put(struct session *session, struct batch *batch);

/* ---- session_waited.c ---- */

/* A thread waits for a descriptor that is new: what it is goes into the capture as a text, who has the other end of it a little later; data:
 * the session. */
void session_on_waited(void *data, const struct process_event *event);
/* Looks who that is, where it is asked for and not too often; always: now. Blocks: milliseconds. */
void session_waited_look(struct session *session, bool always);
struct session_waited *session_waited_free(struct session_waited *waited); /* NULL allowed; returns NULL */

/* ---- session_waits.c: what the main thread waits for ---- */

enum session_wait {
	SESSION_WAIT_SIGNAL,
	SESSION_WAIT_TIMER,
	SESSION_WAIT_CAPTURE_ERROR,
	SESSION_WAIT_TARGET,
	SESSION_WAIT_PROCESSES,
	SESSION_WAIT_CODE
};

/* Signals are blocked from here on, in all threads that are started later. */
int session_waits_open(struct session *session, struct err *err);
/* index: which of several. 0 or -errno. */
int session_waits_add(struct session *session, int fd, enum session_wait what, u32 index);
/* From here on the status is brought up to date some times a second. */
void session_waits_start_ticks(struct session *session);
/* Takes what has come, so that it does not strike when signals are let through again. */
void session_waits_take_signals(const struct session *session);
void session_waits_close(struct session *session);

/* ---- session_loop.c ---- */

/* Until time is over, a signal comes, all targets have ended, or the capture can't be written: result.end says. */
void session_loop_run(struct session *session);

/* ---- session_status.c ---- */

/* result.status, as it is now. */
void session_status_update(struct session *session);

/* ---- session_detach.c ---- */

/* Starts the guardian, which takes the links off with which calibration measured. */
void session_guard(struct session *session, struct guardian_work *work);

/* After the window has closed. May end while the probes are taken off. */
void session_detach_begin(struct session *session);
/* The probes on CUPTI too, which stay until the agents have left and the drain thread has ended. */
void session_detach_watch(struct session *session);
/* Waits for it, not for ever: result.status says what is left. Puts back what return addresses are still overwritten. */
void session_detach_end(struct session *session);

/* ---- session_budget.c ---- */

/* Measures what recording costs, by a thread of its own: half of it is waiting for the kernel. Before anything is attached;
 * session_calibrate_wait() comes before anything else is done with the source. */
void session_calibrate(struct session *session);
void session_calibrate_wait(struct session *session);
/* Plans the links of what may be switched off. When it is calibrated, before anything is attached. */
int session_budget_open(struct session *session, struct err *err);
/* Some times a second: estimates, and switches off what costs more than it may. cpu_ns: of the targets, in the window. */
void session_budget_look(struct session *session, u64 cpu_ns);
/* The same, sooner and more often, of calls of CUDA that probes record. When it is to be called next; UINT64_MAX: never. */
u64 session_api_look(struct session *session, u64 now_ns);
/* Until when it was recorded: when it was switched off, or to the end of the window. */
u64 session_budget_end_ns(const struct session *session, enum price_sort sort);
/* A wait, or a span of USDT probes, that is open at the end. */
void session_budget_end_span(const struct session *session, enum price_sort sort,
			     struct record_header *span);
void session_budget_put_facts(struct session *session, struct batch *batch);
/* A function of the plan, or a sort of records (function: SIZE_MAX), ends here for another reason than its price. */
void session_budget_note_end(struct session *session, size_t function, enum price_sort sort, u64 now_ns);

/* ---- session_launches.c ---- */

/* Of launches the stacks of all have been taken for spent_ns of the targets' CPU time since session_api_look()'s mark (is_whole: for a second or
 * more): samples them from now on where that is too dear, or takes none any more where they have had their share of the window. */
void session_launch_look(struct session *session, struct overhead_part *parts, size_t count, u64 spent_ns, bool is_whole);
/* What they cost before they were sampled says nothing of what they cost now, and what has a share of its own is none of the others'. */
void session_launch_forget(const struct session *session, struct overhead_part *parts,
			   struct budget_part *budget, size_t count);

/* ---- session_probes_off.c ---- */

/* A row of the ledger with its moment, into the capture at once: it may be cut. */
void session_put_loss(struct session *session, u8 reason, const char *name, u64 at_ns, u64 count);
/* Taking links off takes the kernel some 50 ms. With this a thread does that, and this is called while it does; NULL: done when the
 * function comes back. */
struct session_meanwhile {
	void (*run)(void *data); /* NULL: nothing is called */
	void *data;
};
/* No call of these functions is recorded from now_ns on, and the places go; those that share links with them are put in again. tags:
 * room for one a function, and one more. */
void session_take_probes_off(struct session *session, const size_t *functions, size_t count, u64 now_ns,
			     u32 *tags, const struct session_meanwhile *meanwhile);
/* The same of all allocators of host memory, or all USDT probes. */
void session_take_sort_off(struct session *session, enum price_sort sort,
			   const struct session_meanwhile *meanwhile);
/* Waits until such threads have ended; have they; looks which have. */
void session_join_departing(struct session *session);
bool session_has_departed(const struct session *session);
void session_reap_departing(struct session *session);

/* ---- session_code_watch.c: targets that change code in which there are probes ---- */

/* Before anything is attached: from here on what they do is told. */
int session_code_watch(struct session *session, struct err *err);
/* When all is attached: compares once more, and from then on threads that change such code wait until that is handled. 0 or
 * -ENOMEM. */
int session_code_guard(struct session *session);
/* From here on nobody handles it at once. */
void session_code_hold_no_more(struct session *session);
/* Some times a second: processes that may have mapped code to be probed elsewhere. */
void session_code_tick(struct session *session);
/* When the window has closed: where the kernel has put breakpoints over what a target wrote, taking them off
 * would put the file's byte there, so that is put right first; */
void session_code_leave(struct session *session);
/* and when they are off, once more. */
void session_code_left(struct session *session);
void session_code_free(struct session *session);

/* ---- session_code_writes.c: what they change goes ---- */

/* Somebody did something. */
void session_code_handle(struct session *session);
/* As if each target had written somewhere. 0 or -ENOMEM. */
int session_code_look_at_all(struct session *session);

/* ---- session_samples.c ---- */

/* After all else was attached. Where they can't be taken, and nobody asked for them by name, samples_error says why. */
int session_attach_samples(struct session *session, struct err *err);
/* Ends them, with the window or before it: how long threads have run goes into the capture. */
void session_end_samples(struct session *session);

/* ---- session_gpu_cost.c: the GPU side of it ---- */

/* What it costs by now goes into the estimate. */
void session_gpu_cost_update(struct session *session);
/* The next of what costs there is not recorded any more: first calls of the APIs, then all. What that is called, and since when. */
const char *session_gpu_shed(struct session *session, u64 *ret_since_ns);
void session_gpu_cost_put_facts(struct session *session, struct batch *batch);

/* ---- session_targets.c ---- */

/* Of the functions of the plan and of our own, with which calibration measures: VALUE_returns_*, a bit each. */
u32 session_returns(const struct session_config *config);
struct source_targets session_source_targets(const struct session *session);
/* What the targets, and the children that are recorded, have used of the CPU, without threads of ours in them; ended_ns: what
 * those used of it that have ended. */
u64 session_cpu_time_ns(struct session *session, u64 ended_ns);
/* One that is recorded: a target, or a child, which is open until it is closed. 0 or -errno: it has ended. */
struct session_process {
	const struct target *target;
	struct target opened;
};
int session_process_open(const struct session *session, u32 pid, struct session_process *process);

#endif
