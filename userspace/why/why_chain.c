/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why/why_chain.h"

/* Threads that wait for each other are followed so far. */
#define CHAIN_MAX 16

/* Does it wait for a thread that is known, at ts, outside calls or for a GPU? */
static bool waits_for_thread(const struct why_state *thread, u64 ts)
{
	return thread->waits && (!thread->calls || thread->call_syncs) &&
	       thread->waker != WHY_NO_ROW && ts < thread->ready_ns;
}

bool why_chain_follows(const struct why_states *states, const struct why_state *thread, u64 ts)
{
	return waits_for_thread(thread, ts) &&
	       (!thread->calls || why_state_is_ready(&states->threads[thread->waker], ts));
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

		if (thread->waits)
			shorten(thread->ready_ns, since_ns, until_ns);
		if (thread->calls && waits_for_thread(thread, since_ns) &&
		    states->threads[thread->waker].waits)
			shorten(states->threads[thread->waker].ready_ns, since_ns, until_ns);
		if (!why_chain_follows(states, thread, since_ns))
			break;
		*effect_ns = thread->ready_ns;
		row = thread->waker;
	}
	return row;
}

bool why_chain_has(const struct why_states *states, size_t row, u64 since_ns, size_t wanted)
{
	for (unsigned i = 0; i < CHAIN_MAX && row != wanted; i++) {
		if (!waits_for_thread(&states->threads[row], since_ns))
			return false;
		row = states->threads[row].waker;
	}
	return row == wanted;
}
