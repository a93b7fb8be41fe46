/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What threads are in as events come, and who it is for whom one waits: that one may wait for another one in turn. */
#ifndef GPUPROBE_WHY_WHY_CHAIN_H
#define GPUPROBE_WHY_WHY_CHAIN_H

#include "why/why_parts.h"

struct why_thread {
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
	size_t waker; /* row of the thread that woke it then; WHY_NO_ROW: of none that is known */
	u64 calls_until_ns, waits_until_ns; /* up to when these are recorded of its process */
	u64 seen_ns;			    /* when something was recorded of it last */
	bool is_seen;			    /* something was before */
};

/* It could run, and has no CPU: whatever it is in. */
bool why_thread_is_ready(const struct why_thread *thread, u64 ts);
/* Is what it does at ts what the one does that it waits for? Of who waits for a GPU that is idle it is, that that one has no CPU to tell of it. */
bool why_chain_follows(const struct why_thread *threads, const struct why_thread *thread, u64 ts);
/* threads: [row]. The last of the threads that wait for each other; until_ns: at most up to when that is so, without an event. */
size_t why_chain_follow(const struct why_thread *threads, size_t row, u64 since_ns, u64 *until_ns);
/* Does a thread wait for that one, or for one that does? */
bool why_chain_has(const struct why_thread *threads, size_t row, u64 since_ns, size_t wanted);

#endif
