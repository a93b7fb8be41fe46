/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inject/inject_wait.h"

#include <sys/syscall.h>

#define CALL(number)
#define OUTSIDE(number)
#define WHOLE(number)
#define WAIT(number, name, argument, limit) {number, name, argument, INJECT_WAIT_##limit},
static const struct inject_wait waits[] = {
#include "inject/inject_wait.def"
};
#undef WAIT
#undef CALL

#define WAIT(number, name, argument, limit)
#define CALL(number) number,
static const u64 calls[] = {
#include "inject/inject_wait.def"
};
#undef CALL
#undef OUTSIDE

#define CALL(number)
#define OUTSIDE(number) number,
static const u64 outside_calls[] = {
#include "inject/inject_wait.def"
};
#undef OUTSIDE
#undef WHOLE

#define OUTSIDE(number)
#define WHOLE(number) number,
static const u64 whole_calls[] = {
#include "inject/inject_wait.def"
};

#define ENDED			 "which a stop may end, or not reach"
#define REPEATED		 "which may not be one that can be repeated"
#define OTHER(number, name, why) {number, name, why},
static const struct inject_other others[] = {
#include "inject/inject_other.def"
};

static bool is_among(const u64 *numbers, size_t count, u64 number)
{
	for (size_t i = 0; i < count; i++)
		if (numbers[i] == number)
			return true;
	return false;
}

const struct inject_wait *inject_wait_find(u64 number)
{
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++)
		if (waits[i].number == number)
			return &waits[i];
	return NULL;
}

const struct inject_other *inject_wait_other(u64 number)
{
	static const struct inject_other unknown = {0, NULL, REPEATED};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (others[i].number == number)
			return &others[i];
	return &unknown;
}

bool inject_wait_has_limit(const struct inject_wait *wait, const u64 arguments[6])
{
	u64 argument = arguments[wait->limit_argument];

	switch (wait->limit) {
	case INJECT_WAIT_NONE:
		return false;
	case INJECT_WAIT_MILLISECONDS:
		return (int32_t)argument >= 0;
	case INJECT_WAIT_POINTER:
		return argument != 0;
	case INJECT_WAIT_LIMITED:
		break;
	}
	return true;
}

enum inject_behind inject_wait_takes_behind(u64 number)
{
	if (is_among(calls, ARRAY_SIZE(calls), number))
		return INJECT_BEHIND_CALL;
	return is_among(outside_calls, ARRAY_SIZE(outside_calls), number) ? INJECT_BEHIND_OUTSIDE
									  : INJECT_BEHIND_NEVER;
}

bool inject_wait_is_whole(u64 number)
{
	return is_among(whole_calls, ARRAY_SIZE(whole_calls), number);
}
