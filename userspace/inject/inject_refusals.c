/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inject/inject_refusals.h"

#define FIRST_NS (10 * NS_PER_MILLISECOND)
#define MAX_NS	 (320 * NS_PER_MILLISECOND)
#define MOVED_NS (40 * NS_PER_MILLISECOND) /* the same of one that is somewhere else each time */

/* What is kept of a thread. */
enum refusal { REFUSAL_PLACE, REFUSAL_PAUSE_NS, REFUSAL_UNTIL_NS };

static u64 get(const struct inject_refusals *refusals, u32 tid, enum refusal what)
{
	const u64 *value = map_find(&refusals->threads, tid, what);

	return value ? *value : 0;
}

void inject_refusals_note(struct inject_refusals *refusals, u32 tid, u64 place, u64 now_ns)
{
	u64 pause_ns = 2 * get(refusals, tid, REFUSAL_PAUSE_NS);
	u64 max_ns = place == get(refusals, tid, REFUSAL_PLACE) ? MAX_NS : MOVED_NS;

	pause_ns = pause_ns < FIRST_NS ? FIRST_NS : pause_ns > max_ns ? max_ns : pause_ns;
	if (!map_set(&refusals->threads, tid, REFUSAL_PLACE, place) &&
	    !map_set(&refusals->threads, tid, REFUSAL_PAUSE_NS, pause_ns))
		map_set(&refusals->threads, tid, REFUSAL_UNTIL_NS, now_ns + pause_ns);
}

bool inject_refusals_allow(const struct inject_refusals *refusals, u32 tid, u64 now_ns)
{
	return now_ns >= get(refusals, tid, REFUSAL_UNTIL_NS);
}

void inject_refusals_free(struct inject_refusals *refusals)
{
	map_free(&refusals->threads);
}
