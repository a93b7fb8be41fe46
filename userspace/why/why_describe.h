/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a thread waited for, or went on to, in the words of why_cause.what. All return the number in whats, or -ENOMEM. */
#ifndef GPUPROBE_WHY_WHY_DESCRIBE_H
#define GPUPROBE_WHY_WHY_DESCRIBE_H

#include "why/why_code.h"

/* Zero-initialise it but for code, which is the caller's. */
struct why_describe {
	struct why_code *code;
	struct map waits; /* (process and stack; name, how it was woken, is it behind) -> dense number */
	struct map launches; /* (process and stack, who waits and path) -> number in whats */
	struct map known; /* (that and object or lock; waker and its name) -> number in whats: words are put together once */
	struct map calls; /* (name, process and stack) -> number in whats */
};

enum why_describe_side {
	WHY_SIDE_WAITS,
	WHY_SIDE_TIMER, /* of its own: where in the code says more than what else would have ended it */
	WHY_SIDE_WAITED, /* and has no CPU */
};

/* "read for pipe in next_batch (train.py:9), woken by loader (17)", "futex in push (queue.cc), at a lock that saver (18) had"; wait_name: number
 * in whats. */
s64 why_describe_wait(struct why_describe *describe, const struct record_off_cpu *wait, u32 wait_name, enum why_describe_side side);
/* Who ended a wait that is called so: "loader (17)", "redis-server" that is not recorded, "an interrupt"; NULL: nobody knows. */
const char *why_describe_waker(const char *what);
/* Is that one that is not recorded? The others have their numbers. */
bool why_describe_is_stranger(const char *waker);
/* "cudaMalloc in grow (train.py:12)"; name: number in whats; stack 0, or without code of the program's own: the name alone. */
s64 why_describe_call(struct why_describe *describe, u32 name, u32 pid, u32 stack);
/* How many bytes of such words are the call's name. */
size_t why_describe_call_length(const char *what);
s64 why_describe_preemption(struct why_describe *describe, const struct record_off_cpu *wait);
/* By its cgroup's share, whoever has the CPU meanwhile: what it was at. */
s64 why_describe_throttling(struct why_describe *describe, const struct record_off_cpu *wait);
/* Of a thread without samples: what it went on to. */
s64 why_describe_launch(struct why_describe *describe, const struct why_gap *gap);
void why_describe_free(struct why_describe *describe);

#endif
