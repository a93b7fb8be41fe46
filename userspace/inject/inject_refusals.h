/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that were stopped and could not be borrowed are left alone for a while, longer each time: what speaks against one mostly stays, and each stop
 * costs it some 0.1 ms, and a wait of its that must begin anew. One that is met in another place than before is worth another try soon.
 */
#ifndef GPUPROBE_INJECT_INJECT_REFUSALS_H
#define GPUPROBE_INJECT_INJECT_REFUSALS_H

#include "base/map.h"
#include "base/types.h"

/* Zero-initialise it. */
struct inject_refusals {
	struct map threads;
};

/* place: where it was stopped, any number that differs where that does; 0: it was not. Without memory it is not left alone. */
void inject_refusals_note(struct inject_refusals *refusals, u32 tid, u64 place, u64 now_ns);
/* May it be stopped now? */
bool inject_refusals_allow(const struct inject_refusals *refusals, u32 tid, u64 now_ns);
void inject_refusals_free(struct inject_refusals *refusals);

#endif
