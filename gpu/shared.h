/* SPDX-License-Identifier: MIT */
/*
 * The memory that gpuprobe and the agent in a target share: one sealed memfd, named "gpuprobe-ring", made in the
 * target, mapped by both. A control page first, then the chunks that the records travel in.
 *
 * Who lives is told by a lock, not by a heartbeat: gpuprobe holds flock(LOCK_EX) on a file description of its
 * own (opened by /proc/PID/fd/N) for as long as it lives, stopped or not. The agent tries LOCK_EX | LOCK_NB on
 * its own every 100 ms: when it gets the lock nobody listens any more, and it leaves.
 *
 * Neither side believes the other more than it must: gpuprobe is root and the target may be hostile, so gpuprobe
 * checks every number that it reads here and copies a record before it looks at it. The agent never waits for
 * gpuprobe: without a free chunk it drops and counts.
 *
 * Included by the agent and by userspace; the includer provides u8..u64.
 */
#ifndef GPUPROBE_GPU_SHARED_H
#define GPUPROBE_GPU_SHARED_H

#define AGENT_MAGIC	      0x31746e6567617067ULL /* "gpagent1" */
#define AGENT_MEMFD_RING      "gpuprobe-ring"
#define AGENT_MEMFD_LIBRARY   "gpuprobe-agent"
#define AGENT_MEMFD_RESIDENT  "gpuprobe-resident" /* gpu/resident/resident.h: what may stay behind, and says so */
#define AGENT_MEMFD_CUPTI     "libcupti.so" /* handed over by gpuprobe; stays mapped, as a file would */
#define AGENT_THREAD_NAME     "gpuprobe-agent"
#define AGENT_WORKER_NAME     "cupti-worker" /* of threads that CUPTI makes for the agent */
#define AGENT_CHUNK_BYTES     (64U << 10)
#define AGENT_CHUNKS_MAX      4096U
#define AGENT_CONTROL_BYTES   8192U
#define AGENT_HINT_BYTES      360
#define AGENT_PATH_BYTES      256
#define AGENT_FEATURES	      8
#define AGENT_ACTIVITY_KINDS  64 /* of CUPTI, by its numbers */
#define AGENT_NVTX_SITES      64
#define AGENT_STACKS_TIMED    64

/* ---- what never changes: by these words alone any version asks any other to leave ------------------ */

enum agent_wanted {
	AGENT_WANTED_RUN = 0,
	AGENT_WANTED_LEAVE = 1, /* stop all, hand over what there is, unload */
};

enum agent_state {
	AGENT_STATE_NONE = 0,	   /* injected, the thread does not run yet */
	AGENT_STATE_STARTING = 1,
	AGENT_STATE_READY = 2,	   /* every feature has its answer: records may come */
	AGENT_STATE_LEAVING = 3,
	AGENT_STATE_DRAINED = 4,   /* no record comes any more */
	AGENT_STATE_GONE = 5,	   /* its last word before the library is unloaded, nothing left behind */
	AGENT_STATE_RESIDENT = 6,  /* the same, but the page of gpu/resident/resident.h stays: hint says why */
	AGENT_STATE_FAILED = 7,	   /* it never ran: hint says why */
};

struct agent_control_fixed { /* 64 bytes */
	u64 magic;	    /* AGENT_MAGIC; by gpuprobe */
	u32 fixed_bytes;    /* sizeof(struct agent_control_fixed); by gpuprobe */
	u32 total_bytes;    /* of this ring; a memfd of a command has several, one behind another; by gpuprobe */
	u64 schema_hash;    /* of record.def and this header, of who made the memfd */
	u32 wanted;	    /* enum agent_wanted; by gpuprobe */
	u32 state;	    /* enum agent_state; by the agent */
	u32 agent_tid;	    /* its thread, in the target's pid namespace; by the agent, before anything else */
	u32 tool_pid;	    /* gpuprobe, as the host sees it; for people */
	u32 reserved[6];
};

/* ---- what only the same build understands ---------------------------------------------------------- */

enum agent_feature_id {
	AGENT_FEATURE_CUPTI = 0,
	AGENT_FEATURE_NVTX = 1,
	AGENT_FEATURE_STACKS = 2, /* of who calls CUDA */
};

enum agent_feature_state {
	AGENT_FEATURE_OFF = 0,	   /* not wanted */
	AGENT_FEATURE_PENDING = 1,
	AGENT_FEATURE_READY = 2,
	AGENT_FEATURE_FAILED = 3,  /* it should work, and did not: hint */
	AGENT_FEATURE_IGNORED = 4, /* it cannot be had here, which is nobody's fault: hint */
};

struct agent_feature {
	u32 wanted; /* bool; by gpuprobe */
	u32 state;  /* enum agent_feature_state; by the agent, last */
	u32 result; /* CUptiResult or errno of the call that failed */
	u32 pad;
	char hint[AGENT_HINT_BYTES]; /* what went wrong and what to do, NUL-terminated; by the agent */
};

/* By gpuprobe, before the agent starts. */
struct agent_cupti_config {
	u64 kinds;		  /* 1 << CUpti_ActivityKind */
	char path[AGENT_PATH_BYTES]; /* library to load where the target has none mapped; "": do not */
	u32 buffer_bytes;	  /* of one activity buffer */
	u32 buffer_count_max;	  /* beyond: CUPTI drops, and it is counted */
	u32 flush_period_ms;
	u32 api_groups;		  /* 1 << enum api_group: which API calls, of the kinds of API calls */
	u32 latency_timestamps;	  /* bool: queued and submitted of kernels */
	u32 graph_whole;	  /* bool: a graph launch as one record, not by node */
	u32 texts_max;		  /* distinct strings */
	u32 devices_max;	  /* 0: all */
	u64 callback_events_max;  /* 0: no cap; of API calls */
	u64 activity_events_max;  /* 0: no cap; of everything else */
	u32 take_down;		  /* bool: CUPTI is taken down in the end, where that is safe */
	u32 handover;		  /* bool: path is gpuprobe's, the target can't open it: ask for it (handover_state) */
	u32 shared_by_others;	  /* bool: who uses CUPTI in the target knows the functions by which several share it */
	u32 buffer_count_ready;	  /* so many threads may call CUDA at once, each of which may want one; 0: not known */
};

/*
 * By the agent, of a command's: CUPTI was started on this thread of the target, in this time; what it made meanwhile is
 * CUPTI's. tid 0: on the agent's own.
 */
struct agent_starter {
	u32 tid; /* in the target's pid namespace */
	u32 pad;
	u64 from_ns, until_ns; /* CLOCK_MONOTONIC of the target */
};

/* How another user of CUPTI was noticed. */
enum cupti_lost {
	CUPTI_LOST_NOTHING,
	CUPTI_LOST_TAKEN,     /* it registered callbacks of its own */
	CUPTI_LOST_FINALIZED, /* it took CUPTI down */
	CUPTI_LOST_SILENT,    /* a call of our own that was recorded before is no more (cupti_canary.h) */
	CUPTI_LOST_KERNELS,   /* launches are recorded, their kernels no more */
};

/* By the agent. */
struct agent_cupti_facts {
	u32 cupti_version;  /* cuptiGetVersion */
	u32 driver_version; /* cuDriverGetVersion */
	u64 kinds_enabled;  /* of those wanted */
	u32 timestamps_ours; /* bool: they are CLOCK_MONOTONIC by our callback; else fitted by the agent */
	u32 fit_residual_ns; /* largest distance of the fitted line from its points */
	/* What a record of an API call costs who makes the call, as measured on the agent's thread; 0: it was not. */
	u32 driver_call_ns, runtime_call_ns;
	char path[AGENT_PATH_BYTES]; /* the library in use, as the target sees it */
	char other_client[64];	     /* who holds CUPTI, where it says so */
	u64 lost_ns;	 /* from when on nothing is recorded any more, by the target's CLOCK_MONOTONIC; 0: all was */
	u64 kept_bytes;	 /* of buffers that CUPTI, or who took it over, still has: they are never touched again */
	u32 lost_reason; /* enum cupti_lost */
	u32 shared;	 /* bool: no subscription is held while it records, since torch.profiler may want it */
	/* From when to when the subscription was held, by the target's CLOCK_MONOTONIC: whoever else asks for it is refused. 0: not yet. */
	u64 held_ns, given_back_ns;
	u32 several; /* bool: it is shared with other subscribers */
	u32 pad;
	u64 handed_over_ns; /* what ended before, by the target's CLOCK_MONOTONIC, CUPTI has handed over; 0: not known */
};

/*
 * Where gpuprobe has found what gpu/nvtx/nvtx_globals.h describes; the agent looks for itself before it believes it. By
 * gpuprobe, at any time: sites first, then generation, which counts up.
 */
struct agent_nvtx_sites {
	u32 generation;
	u32 count;
	u32 tool_named; /* bool: NVTX_INJECTION64_PATH is set: what is not initialised yet belongs to that tool */
	u32 pad;
	u64 addresses[AGENT_NVTX_SITES];
};

/* How libcupti is used by others than the agent (gpu/cupti/cupti_watched.def); bits. */
enum cupti_use {
	CUPTI_USE_SUBSCRIBES = 1,
	CUPTI_USE_REGISTERS = 2, /* its buffer callbacks stand instead of ours: buffers of ours that are out go to it */
	CUPTI_USE_ENABLES = 4,
	CUPTI_USE_DISABLES = 8, /* a kind that is switched off is so for all */
	CUPTI_USE_FINALIZES = 16, /* every call after that would start CUPTI anew */
};

/* What others did since the agent began; by gpuprobe, at once, uses last. Times are CLOCK_MONOTONIC of the target. */
struct agent_cupti_others {
	u32 uses; /* of enum cupti_use, never taken back */
	u32 pad;
	u64 kinds; /* 1 << CUpti_ActivityKind: enabled by them and not disabled again */
	u64 first_ns, last_ns; /* of these calls */
	u64 lost_ns; /* of the first that took something from us: any but SUBSCRIBES and ENABLES; 0: none did */
	u64 own_ns; /* of the last one of the agent's own: all that others did before has been told */
	u32 watched;   /* bool: such calls are told of */
	u32 libraries; /* counts up where a library has come whose profiler may ask for the subscription (cupti_users.def) */
	u64 refused_ns; /* of the first that asked for the subscription while the agent held it; 0: none did */
	u32 refused;	/* how often */
	u32 pad_refused;
	u64 registered_ns; /* of the last that registered callbacks of its own, by the older function; 0: none did */
	u64 registered[2]; /* these: requested, completed */
};

/* By the agent. */
struct agent_nvtx_facts {
	u32 taken;    /* sites whose calls it takes */
	u32 foreign;  /* another tool has them, or will have */
	u32 starting; /* being initialised by a thread of the target: looked at again */
	u32 gone;     /* not there, not writable */
};

/* Never reset while a session lasts. By the agent, atomically; read at any time. */
enum agent_counter {
	AGENT_COUNT_RECORDS,		/* published, facts included */
	AGENT_COUNT_WORK,		/* those of what the process did: no facts, no environment */
	AGENT_COUNT_RING_FULL,		/* events for which no chunk was free */
	AGENT_COUNT_CUPTI_DROPPED,
	AGENT_COUNT_NO_TIMESTAMPS,
	AGENT_COUNT_ACTIVITY_UNKNOWN,
	AGENT_COUNT_FACTS_CAPPED,	/* texts, streams or contexts over their number: referred to as 0, or as not known */
	AGENT_COUNT_CAPPED_CALLBACKS,	/* over callback_events_max */
	AGENT_COUNT_CAPPED_ACTIVITIES,	/* over activity_events_max */
	AGENT_COUNT_BUFFERS_OUT,	/* activity buffers that CUPTI has */
	AGENT_COUNT_OUTSIDE_WINDOW,	/* ended before window_start_ns or began after window_end_ns: not sent */
	AGENT_COUNT_RANGES,		/* ranges and marks of NVTX, published */
	AGENT_COUNT_RANGE_UNMATCHED,	/* ends of ranges that were not seen to begin */
	AGENT_COUNT_RANGE_LOST,		/* more open at once than can be kept */
	/* What CUPTI recorded in the window, sent or not. */
	AGENT_COUNT_DRIVER_CALLS,
	AGENT_COUNT_RUNTIME_CALLS,
	AGENT_COUNT_OPERATIONS,		/* of GPUs: kernels, copies, sets, graphs */
	/* Records of CUPTI that were converted, and the CPU time of the agent's thread for it. */
	AGENT_COUNT_CONVERTED,
	AGENT_COUNT_CONVERTING_NS,
	/* Of calls of CUDA whose stack was asked for: without one, since there is no room for more different ones, or what is mapped was just
	 * changing. */
	AGENT_COUNT_STACKS_UNKNOWN,
	AGENT_COUNT_STACKS,	/* asked for, */
	AGENT_COUNT_STACKS_NS,	/* and what that took the threads that asked, by one in AGENT_STACKS_TIMED */
	AGENT_COUNT_STACKS_CUT, /* of those that have one: where it ends is not where the thread began */
	AGENT_COUNTERS
};

/* What is not recorded any more. */
enum agent_shed {
	AGENT_SHED_NOTHING = 0,
	AGENT_SHED_CALLS = 1, /* of the CUDA APIs */
	AGENT_SHED_ALL = 2,   /* all that CUPTI tells */
};

enum agent_handover {
	AGENT_HANDOVER_NONE = 0,
	AGENT_HANDOVER_ASKED = 1, /* by the agent */
	AGENT_HANDOVER_DONE = 2,  /* by gpuprobe */
	AGENT_HANDOVER_FAILED = 3,
};

struct agent_control {
	struct agent_control_fixed fixed;
	struct agent_feature features[AGENT_FEATURES];
	struct agent_cupti_config cupti;
	struct agent_cupti_facts cupti_facts;
	struct agent_cupti_others cupti_others;
	u64 code_begin, code_end; /* of the agent; by it, before it calls CUPTI */
	struct agent_nvtx_sites nvtx;
	struct agent_nvtx_facts nvtx_facts;
	struct agent_starter starter;
	u64 window_start_ns; /* by gpuprobe: 0: not open yet; CLOCK_MONOTONIC of the target */
	u64 window_end_ns;   /* by gpuprobe: 0: still open */
	u64 counters[AGENT_COUNTERS];
	u32 chunk_count; /* by gpuprobe */
	u32 flush_wanted; /* gpuprobe counts up: the agent flushes, then sets flush_done to it */
	u32 flush_done;
	u32 shed_wanted; /* enum agent_shed; by gpuprobe */
	u32 shed_done;   /* the same; by the agent */
	u64 shed_ns;     /* by the agent: when the last of it was done, CLOCK_MONOTONIC of the target */
	u64 flushing_ns;    /* by the agent: since when it has been in cuptiActivityFlushAll, CLOCK_MONOTONIC of the target; 0: it is not */
	u64 finalizing_ns;  /* the same of cuptiFinalize, after all is handed over */
	u32 bell; /* counts up when there is something for the agent's thread, which waits for that (futex): by anybody */
	u32 handover_state; /* enum agent_handover */
	u32 handover_fd;    /* by the agent: a memfd AGENT_MEMFD_CUPTI, for gpuprobe to fill and seal */
	u32 turned_away;    /* by agents, in the first ring of a memfd: processes that found no ring free */
	u32 met;	    /* by gpuprobe, of a command's: it has seen whose ring this is; a process waits a second for it before it ends */
	u32 next_chunk;	    /* counts up, modulo chunk_count: up to where producers have taken free ones. By them */
	char hint[AGENT_HINT_BYTES]; /* of the state as a whole; by the agent */
};

/*
 * A chunk has one writer at a time, so that whoever dies leaves no hole: fill says how far it is whole.
 *
 *	FREE -> HELD (a producer, by compare and swap, its tid in holder) -> PARTIAL or FULL
 *	PARTIAL -> HELD (any producer goes on in it) | TAKEN (gpuprobe, when all of it is read) -> FREE
 *	FULL -> FREE (gpuprobe, when all of it is read)
 *	HELD by a thread that is gone: gpuprobe takes it as FULL
 *
 * A producer writes a record behind fill and then stores fill with release; gpuprobe loads it with acquire and
 * reads up to there, whatever the state. Records do not cross chunks.
 */
enum agent_chunk_state {
	AGENT_CHUNK_FREE = 0,
	AGENT_CHUNK_HELD = 1,
	AGENT_CHUNK_PARTIAL = 2,
	AGENT_CHUNK_FULL = 3,
	AGENT_CHUNK_TAKEN = 4,
};

struct agent_chunk {
	u32 state;
	u32 holder; /* tid in the target's pid namespace while HELD, 0 else: cleared before the state is left, set after it is taken */
	u32 fill_bytes; /* of records[] that are whole */
	u32 pad;
	u8 records[AGENT_CHUNK_BYTES - 16];
};

#define AGENT_CHUNK_RECORDS_BYTES (AGENT_CHUNK_BYTES - 16)
/* Chunk i begins at AGENT_CONTROL_BYTES + i * AGENT_CHUNK_BYTES. */


_Static_assert(sizeof(struct agent_control_fixed) == 64, "the words that never change are 64 bytes");
_Static_assert(sizeof(struct agent_control) <= AGENT_CONTROL_BYTES, "the control page is too small");
_Static_assert(sizeof(struct agent_chunk) == AGENT_CHUNK_BYTES, "a chunk has no padding");

/* ---- how the agent is started ----------------------------------------------------------------------- */

/*
 * The one symbol that the library exports. Called on a thread of the agent's own, made by the injector (or by
 * InitializeInjection, where CUDA_INJECTION64_PATH loaded it), with all signals blocked. Returns when the agent
 * has left: 1 when the library may be unloaded (dlclose), 0 when it must stay mapped.
 */
#define AGENT_ENTRY "gpuprobe_agent_run"
struct agent_start {
	u32 start_bytes; /* sizeof(struct agent_start) */
	int ring_fd;	 /* the memfd, O_CLOEXEC; the agent maps it, keeps it for the lock, closes it when it leaves */
	/* Of the target's libc: before glibc 2.34 they stand in libdl. 0: the agent looks for them itself. */
	u64 dlopen_address, dlsym_address, dlclose_address;
};
/* int gpuprobe_agent_run(const struct agent_start *start); */

/*
 * InitializeInjection has no arguments: the number of an inherited file descriptor of the ring stands in this
 * variable, or a path to it (descendants may have closed it: /proc/PID/fd/N). The agent opens it anew (a description
 * of its own, for the lock) and leaves the inherited one alone. CUPTI is started before it returns, so that nothing
 * is missed; at exit() the agent hands over what there is, and stops at AGENT_STATE_DRAINED.
 * Each of the processes that inherit it and start CUDA takes the first ring of the memfd that is free (fixed.state, by
 * compare and swap from NONE); one that finds none is counted (turned_away) and stays silent.
 */
#define AGENT_RING_VARIABLE "GPUPROBE_AGENT_RING"

#endif
