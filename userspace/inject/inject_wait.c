/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inject/inject_wait.h"

#include <sys/syscall.h>

static const struct inject_wait waits[] = {
#define WAIT(number, name, argument, limit) {number, name, argument, INJECT_WAIT_##limit},
#include "inject/inject_wait.def"
#undef WAIT
};

const struct inject_wait *inject_wait_find(u64 number)
{
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++)
		if (waits[i].number == number)
			return &waits[i];
	return NULL;
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
