/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls that a thread may wait in when it is borrowed: inject_wait.def. */
#ifndef GPUPROBE_INJECT_INJECT_WAIT_H
#define GPUPROBE_INJECT_INJECT_WAIT_H

#include "base/types.h"

struct inject_wait {
	u64 number;
	const char *name;
	unsigned limit_argument;
	enum inject_wait_limit {
		INJECT_WAIT_NONE,	  /* it has no time limit */
		INJECT_WAIT_MILLISECONDS, /* the argument; negative: none */
		INJECT_WAIT_POINTER,	  /* the argument points to it; 0: none */
		INJECT_WAIT_LIMITED,	  /* always */
	} limit;
};

/* NULL: a thread in it is not borrowed. Of two the one with the lower address is preferred. */
const struct inject_wait *inject_wait_find(u64 number);
bool inject_wait_has_limit(const struct inject_wait *wait, const u64 arguments[6]);

/* Of a system call that is none of them: inject_other.def. */
struct inject_other {
	u64 number;
	const char *name; /* NULL: it is not known */
	const char *why;
};
const struct inject_other *inject_wait_other(u64 number);

/* May a thread be borrowed that stands behind it, when it has ended? */
enum inject_behind {
	INJECT_BEHIND_NEVER,
	INJECT_BEHIND_OUTSIDE, /* only where no allocator may be on its stack */
	INJECT_BEHIND_CALL,
};
enum inject_behind inject_wait_takes_behind(u64 number);
/* Does it all that was asked for, also of a thread that is stopped meanwhile? */
bool inject_wait_is_whole(u64 number);

#endif
