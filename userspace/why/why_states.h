/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In which calls and waits each thread is, from one event to the next. */
#ifndef GPUPROBE_WHY_WHY_STATES_H
#define GPUPROBE_WHY_WHY_STATES_H

#include "why/why_parts.h"
#include "why/why_timeouts.h"
#include "why/why_waits.h"

struct why_state {
	u32 calls, waits;   /* that it is in */
	u32 call;	    /* number of the name of the outermost one, */
	u64 call_ns;	    /* and when that began */
	bool call_syncs;    /* it waits for a GPU */
	bool call_launches; /* a kernel or a graph */
	u32 call_stack;	    /* where in the code it is; 0: not known */
	u32 made_by; /* the stack that was taken of each such call, this one's; 0: of some at most */
	struct record_off_cpu wait; /* the last one; its stack and texts as they are in the view */
	u32 wait_name;		    /* number of its name */
	enum why_wait wait_for;
	u64 ready_ns; /* from when on it could have run again */
	u64 timed_until_ns; /* see why_timeouts_next() */
	size_t waker; /* row of the thread that woke it then; WHY_NO_ROW: of none that is known */
	u64 calls_until_ns, waits_until_ns; /* up to when these are recorded of its process */
	u64 seen_ns;			    /* when something was recorded of it last */
	bool is_seen;			    /* something was before */
	bool has_gpu; /* its process has work of GPUs */
	u32 sample_stack, asked_stack; /* of its last sample; and the one that was looked at for whether it runs Python */
	u64 sample_period_ns; /* 0: it was not sampled */
	bool is_python; /* it has waited for the GIL, or was found in code of Python */
	bool runs_python; /* the last sample that was looked at found it in the interpreter itself */
};

/* Zero-initialise it. */
struct why_states {
	const struct view *view;
	struct why_tally *tally;
	struct why_state *threads; /* [row] */
	struct map rows; /* (pid, tid) -> row */
	struct map gil_owners; /* process -> row of who got its GIL last, of those that waited */
	struct why_waits waits;
	struct why_timeouts *timeouts; /* the caller's */
};

/* 0 or -ENOMEM. */
int why_states_init(struct why_states *states, const struct view *view, struct why_tally *tally, struct why_timeouts *timeouts);
/* A call of CUDA or a wait begins, or ends. 0 or -errno; without err it is -ENOMEM. */
int why_states_enter(struct why_states *states, const struct view_event *event, struct err *err);
int why_states_leave(struct why_states *states, const struct view_event *event);
/* It could run at ts, and has no CPU: whatever it is in. */
bool why_state_is_ready(const struct why_state *thread, u64 ts);
/* Is it the program's own clock that it waits for: was the time over, and did it not wait for the same thing again, and longer, before effect_ns, when that led to something? */
bool why_state_is_timer(const struct why_state *thread, u64 effect_ns);
void why_states_free(struct why_states *states);

#endif
