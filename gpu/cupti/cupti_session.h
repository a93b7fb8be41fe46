/* SPDX-License-Identifier: MIT */
/*
 * One recording of what CUPTI sees, on the agent's thread: begin, tick now and then, end. No lock is held across a
 * call of CUPTI: it calls back under locks of its own.
 */
#ifndef GPUPROBE_GPU_CUPTI_SESSION_H
#define GPUPROBE_GPU_CUPTI_SESSION_H

#include "cupti_buffers.h"
#include "cupti_canary.h"
#include "cupti_convert.h"
#include "cupti_find.h"
#include "cupti_others.h"
#include "../resident/resident.h"

struct launch_stacks;

#define FLUSH_FORCED 1 /* of cuptiActivityFlushAll: also what is not complete */

struct cupti_session {
	struct agent_control *control;
	struct agent_feature *feature;
	struct ring_writer *writer;
	struct loader loader;
	struct cupti_library library;
	struct resident resident;
	struct cupti_buffers buffers;
	struct clock clock;
	struct cupti_convert convert;
	const u32 *live; /* 0 in a fork()ed child of the target: it must not come near any of this */
	u32 tid; /* of the agent's thread; until cupti_session_take_over() 0, and while all begins of who does that */
	u32 version;
	void *subscriber; /* NULL: none is held */
	bool several; /* it is shared with other subscribers, by the new family: cupti_family.h */
	bool others_known; /* libraries that use CUPTI are mapped */
	bool registered; /* our buffer callbacks were given to CUPTI, which is to be left in order */
	struct cupti_others others;
	struct cupti_canary canary;
	u64 kinds_enabled;
	bool managed_tried; /* the counters of unified memory were asked for */
	u32 managed_result; /* CUPTI's answer then */
	u64 kinds_by_number; /* of API calls: not as a kind, each call by its number (cupti_apis.h) */
	bool stays; /* CUPTI will not be taken down: nothing is set that could not be undone */
	/* What we changed, to be undone. */
	bool event_timestamps;
	u32 thread_id_type_was;
	bool timestamps_foreign; /* another client's callback is in force */
	bool timestamps_by_callback; /* ours was given to CUPTI */
	bool finalize_wanted, finalized; /* by the agent's thread alone */
	u32 libraries; /* of control->cupti_others, when it was last looked for users of CUPTI */
	bool configured; /* CUPTI was told things that are to be undone */
	u32 devices_asked; /* how often */
	u64 flushed_ns, clock_ns;
	struct launch_stacks *stacks; /* NULL: none are taken */
	bool stacks_stuck; /* a thread is still in a callback of them */
	u32 stacks_on; /* bool: CUPTI tells of calls for them */
};

struct cupti_session_config {
	struct agent_control *control;
	struct ring_writer *writer;
	const struct loader *loader;
	const u32 *live;
	u64 now_ns; /* from when on facts hold */
};

/* NULL: no memory. The feature's state, result and hint say whether it records. */
struct cupti_session *cupti_session_begin(const struct cupti_session_config *config);
/* Buffers that are full are converted; flushes when it is time. Waits for work until timeout_ns have passed. */
void cupti_session_tick(struct cupti_session *session, u64 timeout_ns);

/* CUPTI, as the loader knows it; NULL: it has none. NULL allowed. */
void *cupti_session_library(const struct cupti_session *session);
/* The calling thread is the agent's from here on; it finds out what records cost. */
void cupti_session_take_over(struct cupti_session *session);
/* Ends the waiting of a tick, from any thread. NULL allowed. */
void cupti_session_wake(struct cupti_session *session);
/* What CUPTI has goes out, even what is not complete; the target is about to end. NULL allowed. */
void cupti_session_hand_over(struct cupti_session *session);

enum cupti_left {
	CUPTI_LEFT_NOTHING,
	CUPTI_LEFT_PAGES,  /* those of resident.h, and what the hint says */
	CUPTI_LEFT_THREAD, /* a thread of the target is still inside the agent: it must stay mapped */
};

/* Stops, hands over what there is, frees. What stays is said in hint (AGENT_HINT_BYTES). NULL allowed. */
enum cupti_left cupti_session_end(struct cupti_session *session, char *hint);

/* ---- among the files that make it ---- */

/* cupti_session.c: converts what CUPTI has handed back. */
void cupti_session_convert(struct cupti_session *session);
void cupti_session_count_dropped(struct cupti_session *session);
/* cuptiActivityFlushAll: may block for as long as the GPU hangs. */
void cupti_session_flush(struct cupti_session *session, u32 flags);
/* A call of CUPTI's failed: the feature's state, result and hint. */
void cupti_session_fail(struct cupti_session *session, u32 state, const char *call, u32 result);
/* The clock of CUPTI, for base/clock.h; data: the session. */
bool cupti_session_read_clock(void *session, u64 *ret_cupti);
/* Slots of resident.h: called by CUPTI, in any thread. */
void cupti_session_requested(u8 **buffer, size_t *bytes, size_t *records_max, struct cupti_session *session);
/* Its arguments are those of cupti_completed or, of the new family (cupti_family.h), those of cupti_completed_new. */
void cupti_session_completed(u64 first, u64 second, u64 third, u64 fourth, u64 fifth, struct cupti_session *session);

/* cupti_settings.c: of these kinds (bits), what we have switched on: as a kind or call by call, and the canary's call with the driver's. */
void cupti_session_switch_off(struct cupti_session *session, u64 kinds);
/* From now on CUPTI zeroes what it gets itself. */
void cupti_session_zero_no_more(struct cupti_session *session);
/* A timestamp callback of ours gives CUPTI the time that it would take itself, from now on. */
void cupti_session_keep_clock(struct cupti_session *session);
/* Which of them the kind is of; it is enabled behind that. */
void cupti_session_count_unified_memory(struct cupti_session *session, u32 enable);
/* Switches the counters of unified memory on at the first sign of managed memory. */
void cupti_session_follow_managed(struct cupti_session *session);

/* cupti_start.c: READY, FAILED or IGNORED with result and hint. */
void cupti_session_start(struct cupti_session *session);
/* cupti_end.c: nothing is recorded from here on. */
void cupti_session_disable_kinds(struct cupti_session *session);

#endif
