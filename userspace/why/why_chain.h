/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who it is for whom a thread waits. */
#ifndef GPUPROBE_WHY_WHY_CHAIN_H
#define GPUPROBE_WHY_WHY_CHAIN_H

#include "why/why_states.h"

/* Is it what its waker does? Of who waits for a GPU that is idle it is, that it has no CPU to tell of it. */
bool why_chain_follows(const struct why_states *states, const struct why_state *thread, u64 ts);
/* The last of the threads that wait for each other; until_ns: at most up to when that is so, without an event; effect_ns: when that one wakes who waits for it. */
size_t why_chain_follow(const struct why_states *states, size_t row, u64 since_ns, u64 *until_ns, u64 *effect_ns);
/* Is `wanted` one of them, maybe? */
bool why_chain_has(const struct why_states *states, size_t row, u64 since_ns, size_t wanted);

#endif
