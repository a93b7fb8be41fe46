/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why/why_chain.h"

/* Threads that wait for each other are followed so far. */
#define CHAIN_MAX 16

/* Does it wait for somebody, at ts, outside calls or for a GPU? */
static bool waits(const struct why_state *thread, u64 ts)
{
	return thread->waits && (!thread->calls || thread->call_syncs) && ts < thread->ready_ns;
}

static bool waits_for_thread(const struct why_state *thread, u64 ts)
{
	return waits(thread, ts) && thread->waker != WHY_NO_ROW;
}

static bool follows(const struct why_states *states, const struct why_state *thread, size_t waker,
		    u64 ts)
{
	return waits(thread, ts) && waker != WHY_NO_ROW &&
	       (!thread->calls || why_state_is_ready(&states->threads[waker], ts));
}

bool why_chain_follows(const struct why_states *states, const struct why_state *thread, u64 ts)
{
	return follows(states, thread, thread->waker, ts);
}

static void shorten(u64 ready_ns, u64 since_ns, u64 *until_ns)
{
	if (since_ns < ready_ns && ready_ns < *until_ns)
		*until_ns = ready_ns;
}

size_t why_chain_follow(const struct why_states *states, size_t row, u64 since_ns, u64 *until_ns,
			u64 *effect_ns)
{
	for (unsigned i = 0; i < CHAIN_MAX; i++) {
		const struct why_state *thread = &states->threads[row];
		struct why_state_end end = why_state_end(states, thread, *effect_ns);

		if (thread->waits)
			shorten(thread->ready_ns, since_ns, until_ns);
		if (thread->calls && waits_for_thread(thread, since_ns) &&
		    states->threads[thread->waker].waits)
			shorten(states->threads[thread->waker].ready_ns, since_ns, until_ns);
		if (end.by_timer || !follows(states, thread, end.waker, since_ns))
			break;
		*effect_ns = end.woken_ns;
		row = end.waker;
	}
	return row;
}

bool why_chain_has(const struct why_states *states, size_t row, u64 since_ns, size_t wanted)
{
	for (unsigned i = 0; i < CHAIN_MAX && row != wanted; i++) {
		/* Which of them ended it depends on what it led to. */
		if (waits(&states->threads[row], since_ns) && states->threads[row].ends.count > 1)
			return true;
		if (!waits_for_thread(&states->threads[row], since_ns))
			return false;
		row = states->threads[row].waker;
	}
	return row == wanted;
}
