/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One injection, between what chooses the thread (inject_borrow.c) and what it does there (inject.c). */
#ifndef GPUPROBE_INJECT_INJECT_PARTS_H
#define GPUPROBE_INJECT_INJECT_PARTS_H

#include "base/map.h"
#include "inject/inject.h"
#include "inject/inject_code.h"
#include "inject/inject_refusals.h"
#include "inject/inject_session.h"

#define INJECT_WAITS_FOR_THREAD "a thread that can be borrowed"

struct injector {
	int (*run)(struct injector *injector, struct err *err); /* on the thread of the session: the region, the files, the agent's thread */
	const struct target *target;
	struct inject_plan *plan;
	const void *library;
	size_t library_bytes, ring_bytes;
	void (*prepare)(void *data, void *shared);
	void *prepare_data;
	u64 deadline_ns;
	struct inject_code code;
	struct inject_session session;
	struct way_back way_back;
	struct inject_data data; /* as it was read or written last */
	u64 region;
	u64 stack_start;      /* of the borrowed thread; 0: there is none that matters */
	u64 running_until_ns; /* threads that run are tried until then, */
	u64 running_quick_until_ns; /* seldom from here on */
	struct inject_refusals refusals; /* of those that wait */
	bool restart_forbidden; /* by a filter: threads with one that wait with a time limit are left alone */
	u64 running_ns, look_ns; /* threads that run are tried from then on; all are looked at again */
	size_t turn; /* which thread that runs is next */
	size_t stop_count; /* of threads, so far */
	bool traced_on; /* one is traced that can't be let go without a stop: this thread of ours has to end */
	struct map running; /* of threads that run, by tid and enum running (inject_borrow.c) */
	struct err waiting_err; /* why none that waits could be had: the last one, or where restart_forbidden is from */
	struct err running_err; /* and none that runs */
	int memory_fd, ring_fd;
	struct process_own own;
};

/* Since when nobody wants it any more; 0: somebody does. Set by the thread that called inject_run(), which is asked. */
static inline u64 inject_given_up_ns(const struct inject_plan *plan)
{
	return __atomic_load_n(&plan->given_up_ns, __ATOMIC_ACQUIRE);
}

/* Before the first call of injector_borrow(). */
void injector_begin(struct injector *injector);
/* Borrows one thread after the other until one has done what `run` has it do, up to the deadline. Errors as inject_run(). Traced_on: it is to
 * be called again, by another thread of ours, and this one to end. */
int injector_borrow(struct injector *injector, struct err *err);

#endif
