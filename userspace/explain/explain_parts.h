/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of this folder share. All functions with a result: 0 or -errno; without err it is -ENOMEM. */
#ifndef GPUPROBE_EXPLAIN_EXPLAIN_PARTS_H
#define GPUPROBE_EXPLAIN_EXPLAIN_PARTS_H

#include <errno.h>

#include "base/map.h"
#include "explain/explain.h"
#include "steps/view_steps.h"
#include "view/gpu_places.h"
#include "view/view_kept.h"
#include "why/why.h"
#include "why/why_doings.h"
#include "why/why_waits.h"

enum explain_finding {
#define FINDING(name, tag, least, title, evidence, remedy) EXPLAIN_##name,
#include "explain/findings.def"
	EXPLAIN_FINDINGS
};

/* ---- names with amounts (explain_places.c) ---- */

struct explain_place {
	const char *name;
	u64 ns, count;
	u32 what; /* 1 + number in why.whats of what may have been called by somebody; 0: of none */
	char *whose; /* the same name with a process, see explain_places_tell_whose(); NULL: the name says enough */
};

/* What it is called for people. */
static inline const char *explain_place_name(const struct explain_place *place)
{
	return place->whose ?: place->name;
}

#define EXPLAIN_NAMES 256 /* a power of two */

/* Zero-initialise it. */
struct explain_places {
	struct string_table names;
	struct explain_place *items; /* [number of the name] */
	size_t capacity;
	struct map pids; /* (number of the name, process) -> ns, where that is to be told */
	struct explain_kept {
		const char *name; /* NULL: none */
		u32 number;
	} *kept; /* [EXPLAIN_NAMES] those that came last, by their address; NULL: none came */
};

/* Of a name that stays where it is and what it is, such as that of an event: of these it is mostly known where they are. */
int explain_places_add_kept(struct explain_places *places, const char *name, u64 ns, u64 count);
int explain_places_add(struct explain_places *places, const char *name, u64 ns, u64 count);
/* The same of something that has that number (explain_place.what). */
int explain_places_add_what(struct explain_places *places, const char *name, u32 what, u64 ns, u64 count);
/* Of that time it is to be told of which process it is: the name ends with that of a thread, which others have, too. */
int explain_places_add_pid(struct explain_places *places, const char *name, u32 pid, u64 ns);
/* Behind all: "decode work.py:11 (python)" is then "decode work.py:11 (python 4711)", or "(python 4711 and 1 more)", first who has most of it. */
int explain_places_tell_whose(struct explain_places *places);
int explain_places_merge(const struct explain_places *from, struct explain_places *to);
/* The `most` with most time (of equal ones that with the lesser name), sorted; how many. */
size_t explain_places_top(const struct explain_places *places, struct explain_place *ret_top, size_t most);
u64 explain_places_sum(const struct explain_places *places);
void explain_places_free(struct explain_places *places);

/* ---- evidence (explain_causes.c, explain_work.c, explain_kernels.c, explain_host.c) ---- */

struct explain_evidence {
	u64 idle_ns; /* of GPUs; of threads where the capture has none of these */
	u64 busy_ns; /* the GPU did nothing else */
	u64 count;
	u64 thread_count; /* whose time it is, where the capture has no work of GPUs: those with a twentieth of what the first one has; else 0 */
	u64 seen_ns, sampled_ns; /* of idle_ns, how it is known; the rest is inferred */
	struct explain_places places, threads, waiters;
	struct explain_places behind; /* of calls that hold a thread: what code that then runs, where samples say so */
	struct explain_places at; /* where in the code those wait that wait for others */
};

void explain_evidence_free(struct explain_evidence *evidence);

/* Of copies of one sort. */
struct explain_copies {
	u64 count, bytes, ns, alone_ns; /* alone: no kernel ran */
	struct explain_places names; /* of operations */
};

enum explain_copy_sort { COPY_TINY, COPY_PAGEABLE, COPY_OTHER, COPY_SORTS };

#define EXPLAIN_TINY_BYTES 16384
/* Up to so much the host reads to go by it: a loss, tokens, logits. */
#define EXPLAIN_READBACK_BYTES (1 << 20)

/* How a thread's operations change between streams. */
struct explain_thread_streams {
	u64 operations, switches, streams;
	u32 last, last_device;
};

struct explain_streams {
	struct explain_thread_streams *threads; /* [row] */
	struct map known;			/* (row, stream) */
};

/* Where the time of typical steps went, and of slow ones, each on average of a step and GPU: findings, and what else there is. */
enum { EXPLAIN_SLOW_BUSY = EXPLAIN_FINDINGS, EXPLAIN_SLOW_UNKNOWN, EXPLAIN_SLOW_PARTS };

struct explain_slow {
	u64 count, mean_ns; /* of the slow ones; 0: nothing is said of them */
	bool are_spikes; /* twice as long as the median, or longer; else from p95 on */
	u64 typical_count, typical_mean_ns; /* 0: nothing is said of any */
	struct explain_slow_part {
		double slow_ns, typical_ns; /* all of these add up to the means */
		struct explain_places slow_places, typical_places;
	} parts[EXPLAIN_SLOW_PARTS];
};

struct explain;

/* -ENOMEM. */
static inline int explain_no_memory(struct err *err)
{
	return err_errno(err, -ENOMEM, "can't explain the capture");
}

/* What looks at the events of a run, beside others. */
struct explain_part {
	/* sink NULL: there is nothing to look for. */
	int (*begin)(struct explain *explain, struct view_part *ret_part, struct err *err);
	int (*end)(struct explain *explain, struct err *err); /* behind the run, in the order of the table; NULL: nothing is left to do */
};

/* A part that keeps something from its begin to its end: explain_work of a capture with work of GPUs, explain_host of another one. */
struct explain_look {
	const struct view_sink *sink; /* its data is the state */
	size_t state_bytes;	      /* zeroed at first */
	int (*begin)(struct explain *explain, void *state);
	int (*end)(void *state);
	void (*free)(void *state); /* but itself; of a begin that failed, too */
};

/* What GPUs and calls of CUDA did, how GPUs are. */
extern const struct explain_look explain_work;
/* Where the time of threads went. */
extern const struct explain_look explain_host;

struct explain_collective;

struct explain_collective_gpu {
	u32 device, pid; /* of its last one */
	u64 waited_ns;	 /* by others for it, where it came last, */
	u64 last_count;	 /* so often */
};

/* Kernels that wait for the same one on other GPUs (explain_collectives.c). */
struct explain_collectives {
	struct gpu_places places;
	struct explain_collective_gpu *gpus;
	size_t gpu_count, gpu_capacity;
	struct string_table names;
	struct explain_collective *open; /* [name]: the one that runs, or ran last */
	size_t open_capacity;
	u64 count; /* of several GPUs */
};

struct explain {
	struct view *view;
	bool brief;
	const struct view_survey *survey;
	bool *is_shared; /* [row]: a thread of another process has its name, too */
	bool has_gpu;
	bool launched; /* something for a GPU; of a capture that has no work of any */
	struct why why;
	struct why_making *why_making; /* these are up to the end of their runs */
	struct view_kept *work;	       /* of GPUs, in the run: of use once steps are known */
	const struct explain_look *look;
	void *look_state; /* of it, from its begin on */
	struct explain_typical *typical;
	u64 recorded_ns, busy_ns, unseen_ns, unknown_ns; /* of all GPUs, as of why_gpu; of idle time what nobody can tell the cause of */
	const struct view_steps *steps;	      /* NULL: none were found */
	struct explain_evidence evidence[EXPLAIN_FINDINGS];
	enum explain_finding final[EXPLAIN_FINDINGS]; /* to which the evidence of each came in the end */
	struct explain_slow slow;
	struct explain_copies copies[COPY_SORTS], read_backs;
	u64 sync_count, waited_ns, readback_ns; /* of threads that launch: calls that wait; how long those right behind a tiny copy to the host */
	u64 allocation_count;
	u64 operation_count, operation_ns;
	u64 memory_used_bytes, memory_bytes; /* of the GPU on which most of it was in use, at most */
	u64 readings, throttled_readings, throttle_reasons;
	u64 resident_bytes; /* of all processes, at most */
	u64 state_ns[EXPLAIN_FINDINGS]; /* of states: how long GPUs were in it */
	struct explain_thread_streams stream_turns; /* of the thread that launches most, if it goes from stream to stream; else 0 */
	struct explain_collectives collectives;
	struct map kernel_sorts; /* name's address -> what it tells */
	struct explain_places kernels, code;
	struct explain_places ranges; /* of kernels without a stack of their launch, where only the first ones have some */
	u64 kernel_ns, stacked_ns, unlaunched_ns; /* of kernels: all; whose launch has a stack, was not recorded */
};

/* Before anything is added; and behind all: whose threads of one name are (explain_whose.c). */
int explain_whose_init(struct explain *explain);
int explain_whose_tell(struct explain *explain);
/* "python", whose it is where there are several, to places of threads. */
int explain_add_thread(const struct explain *explain, size_t row, u64 ns, u64 count, struct explain_places *places);

/* A cause of idle time to its finding. */
int explain_causes_add(struct explain *explain);
/* Copies and what calls wait for by what they turned out to be: behind the end of explain_work. */
int explain_causes_settle(struct explain *explain);
/* What of a cause belongs to a finding. */
#define EXPLAIN_SHARES_MAX 2
struct explain_share {
	enum explain_finding finding;
	u64 ns, gaps; /* of two of one finding the gaps are with the first */
	bool by_call; /* it is the doing of the call that held the thread, see why_cause.held_ns */
};
/* Of something that is known: how many. */
size_t explain_cause_shares(const struct why *why, const struct why_cause *cause, struct explain_share ret_shares[EXPLAIN_SHARES_MAX]);
/* Where it was. */
int explain_share_place_add(const struct explain *explain, const struct why *why, const struct why_cause *cause, const struct explain_share *share, struct explain_places *places);
/* The finding of a call of CUDA; EXPLAIN_FINDINGS: of none. */
enum explain_finding explain_finding_of_call(const char *name);
/* Of time in which a GPU only copies. */
enum explain_finding explain_finding_of_copies(enum explain_copy_sort sort);
/* Each kernel that begins. */
int explain_kernel_add(struct explain *explain, const struct view_event *event);
/* Has it fewer blocks than its GPU has multiprocessors? */
bool explain_kernel_is_small(struct explain *explain, const struct view_event *event);
/* Each kernel of a collective, by their starts. */
int explain_collective_add(struct explain *explain, const struct view_event *event);
/* Behind the run. */
int explain_collectives_settle(struct explain *explain);
void explain_collectives_free(struct explain *explain);
void explain_kernels_free(struct explain *explain);
/* Each piece of work. */
int explain_stream_add(struct explain_streams *streams, const struct view_event *event);
void explain_streams_settle(struct explain *explain, const struct explain_streams *streams);

/* ---- what is said (explain_findings.c, explain_about.c, explain_steps.c) ---- */

struct explain_said {
	enum explain_finding finding;
	u64 cost_ns;
	double share; /* percent of the time; of a state of what its evidence names */
	bool is_state;
};

/* Those that have evidence enough, by what they cost; sets how many. */
size_t explain_findings_choose(const struct explain *explain, struct explain_said ret_said[EXPLAIN_FINDINGS]);
const char *explain_finding_tag(enum explain_finding finding);
const char *explain_finding_title(enum explain_finding finding);
const char *explain_finding_remedy(enum explain_finding finding);
/* Else it says what the program does, which may be as it should be. */
bool explain_finding_is_fault(enum explain_finding finding);
/* "seen", "sampled", "inferred": most of it. */
const char *explain_finding_known_by(const struct explain *explain, const struct explain_said *said);
/* The sentence, with its figures. */
void explain_finding_append(const struct explain *explain, const struct explain_said *said, struct text *text);
/* "23.4 %: "; of several threads' time, which may overlap, "2.15 s in 2 threads: ", or "2.15 s: " where nearly all is of one; nothing of a state. */
void explain_size_append(const struct explain *explain, const struct explain_said *said, struct text *text);

/* What a process is; what is not known of it is NULL. The strings live as long as the view. */
#define EXPLAIN_FRAMEWORKS_MAX 2
struct explain_process {
	u32 pid;
	const char *name;
	const char *frameworks[EXPLAIN_FRAMEWORKS_MAX];
	const char *rank; /* "3 of 8" */
	const char *cuda, *driver;
};

/* Those that use a GPU; where there is none, all. How many there are: more than ret_processes holds, maybe. */
#define EXPLAIN_PROCESSES_MAX 8
size_t explain_processes(const struct explain *explain, struct explain_process ret_processes[EXPLAIN_PROCESSES_MAX]);
/* "python3 (442): PyTorch, CUDA 13.0" */
void explain_process_append(const struct explain_process *process, struct text *text);
/* Was an agent in one of the processes, which would have told of work? */
bool explain_gpu_is_recorded(const struct explain *explain);
bool explain_process_is_recorded(const struct explain *explain, u32 pid);
/* "train (100), rank 3 of 8" */
void explain_process_append_short(const struct explain *explain, u32 pid, struct text *text);

/* A process, or several without a name, whose GPU work was not recorded. */
struct explain_missing {
	const char *process; /* "python3 (442)", "descendants" */
	u64 count;
	const char *why; /* NULL: the capture does not say */
	const char *remedy;
};

/* The next one behind *position, 0 at first; false: there is none. */
bool explain_missing_next(const struct explain *explain, size_t *position, struct explain_missing *ret_missing);
/* How long GPUs were idle while threads did what only samples and waits could tell, of a capture without them. */
u64 explain_untold_ns(const struct explain *explain);

/* Were stacks of launches taken, or should they have been, of kernels that there are? */
bool explain_launches_wanted(const struct explain *explain);
/* Were they of the first launches only (--launch-stacks first)? Of how much of the kernels' time the code is told then: of what has a stack. */
bool explain_launches_ended(const struct explain *explain);
u64 explain_launches_code_ns(const struct explain *explain);
/* Of the kernels' time, whose launch has a stack. */
double explain_launches_percent(const struct explain *explain);
/* "only 30.0 % of the kernels' time has a stack of its launch: " */
void explain_launches_append_share(const struct explain *explain, struct text *text);
/* Why that is not all: "from 1.200 s on they were taken by chance; ..." */
void explain_launches_append_why(const struct explain *explain, struct text *text);

/* Of the steps of a thread that were recorded whole. */
struct explain_steps {
	u64 count, mean_ns, p50_ns, p95_ns, busy_mean_ns;
};

/* Of the main track; false: there are no steps. */
bool explain_steps_sum(const struct explain *explain, struct explain_steps *ret_steps);

/* Which steps are typical, and which slow, where there are enough of them: when they are known. */
int explain_slow_choose(struct explain *explain, struct err *err);
/* Behind that, for the work of GPUs: what they do in slow ones; sink NULL: there are none. The end is behind all others, and behind
 * explain_causes_settle(). */
struct view_part explain_slow_work_part(struct explain *explain);
int explain_slow_end(struct explain *explain, struct err *err);
void explain_slow_free(struct explain *explain);
/* What they are by their groups; NULL: nothing is said of any. */
const struct why_slices *explain_slow_slices(const struct explain *explain);
/* Where most of what is longer is; NULL: that is not known. */
const struct explain_place *explain_slow_place(const struct explain_slow *slow, unsigned part);
/* Of steps: the main track, and how many of it count; NULL: there are none. */
const struct view_step_track *explain_steps_main(const struct explain *explain, size_t *ret_count);
/* How long they are, sorted; NULL: no memory. The caller frees. */
u64 *explain_steps_times(const struct view_step_track *track, size_t count);
/* Of `of` equal parts of the sorted ones the end of the `part`th. */
u64 explain_steps_quantile(const u64 *times, size_t count, unsigned part, unsigned of);
/* Those that have time, by how much longer they are in slow steps; how many. */
size_t explain_slow_sort(const struct explain_slow *slow, unsigned ret_parts[EXPLAIN_SLOW_PARTS]);
/* The same by how long they are in typical ones. */
size_t explain_typical_sort(const struct explain_slow *slow, unsigned ret_parts[EXPLAIN_SLOW_PARTS]);
const char *explain_slow_tag(unsigned part);
const char *explain_slow_title(unsigned part);

/* How much of the targets' CPU time recording took, estimated, which may come to more than 100; 0: that is not known. */
double explain_cost_percent(const struct explain *explain);
/* The same of one CPU, rather too much than too little: of a program that has little to do a large share is little, and disturbs nobody. */
double explain_cost_of_one_cpu_percent(const struct explain *explain);

/* "12.3 ms", "4.19 MB" with three digits. */
void explain_append_time(double ns, struct text *text);
void explain_append_bytes(double bytes, struct text *text);
void explain_append_count(u64 count, struct text *text);
/* A name of code in few columns, safe for a terminal. */
void explain_append_name(const char *name, size_t columns, struct text *text);
/* ", called by main (train.py:30)"; nothing where that is not known. */
void explain_append_caller(const struct explain *explain, const struct explain_place *place, struct text *text);

int explain_append_text(const struct explain *explain, const struct explain_style *style, struct text *text);
int explain_append_json(const struct explain *explain, struct text *text);

#endif
