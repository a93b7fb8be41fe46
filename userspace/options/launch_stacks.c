/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "options/launch_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "options/levels.h"

#define SAMPLED "sampled="

/* N, or N/s. */
static bool read_rate(const char *word, u32 *ret_rate)
{
	unsigned long rate;
	char *end;

	if (*word < '0' || *word > '9')
		return false;
	rate = strtoul(word, &end, 10);
	*ret_rate = (u32)rate;
	return (!*end || !strcmp(end, "/s")) && rate && rate <= LAUNCH_STACKS_PER_SECOND_MAX;
}

int launch_stacks_of(const struct options *options, struct launch_stacks *ret_stacks,
		     struct err *err)
{
	const char *word = options->launch_stacks;

	*ret_stacks = (struct launch_stacks){0};
	if (!word)
		ret_stacks->taken = ret_stacks->first = levels_has(options, LEVEL_launch_stacks);
	if (!word || !strcmp(word, "off"))
		return 0;
	ret_stacks->taken = ret_stacks->asked = true;
	ret_stacks->first = !strcmp(word, "first");
	ret_stacks->by_price = !strcmp(word, "auto");
	ret_stacks->by_agent = !strcmp(word, "agent");
	if (ret_stacks->first || ret_stacks->by_price || ret_stacks->by_agent ||
	    !strcmp(word, "all") ||
	    (!strncmp(word, SAMPLED, strlen(SAMPLED)) &&
	     read_rate(word + strlen(SAMPLED), &ret_stacks->samples_per_second)))
		return 0;
	return err_set(err, -EINVAL,
		       "--launch-stacks %.100s: must be first, all, auto, agent, off, or "
		       "sampled=N/s with N "
		       "from 1 to %u",
		       word, LAUNCH_STACKS_PER_SECOND_MAX);
}
