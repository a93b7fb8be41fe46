/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What -U says: [!]PROVIDER:NAME[:s[N,...]][@BINARY]
 *
 * PROVIDER, NAME and BINARY are shell globs that must fit the whole name. BINARY is what it is for -F (plan/pattern.h);
 * without it all files that the targets map are meant. ":s0,2" records the arguments 0 and 2 as the text that they point
 * to; ":s" all that are wide enough to be addresses, as far as there is something to read. '!' takes away from all that the
 * others add.
 */
#ifndef GPUPROBE_PLAN_USDT_PATTERN_H
#define GPUPROBE_PLAN_USDT_PATTERN_H

#include "plan/pattern.h"

struct usdt_pattern {
	const char *text; /* as given; the caller's */
	bool exclude;
	char *provider, *name;
	struct pattern binary; /* only that part of it; none: any file */
	u32 strings;	       /* bit n: argument n is a string */
	bool all_strings;
};

int usdt_pattern_parse(const char *text, struct usdt_pattern *ret_pattern, struct err *err);
void usdt_pattern_free(struct usdt_pattern *pattern);
bool usdt_pattern_matches_module(const struct usdt_pattern *pattern, const struct code_module *module,
				 const struct target *targets);
bool usdt_pattern_matches(const struct usdt_pattern *pattern, const char *provider, const char *name);

#endif
