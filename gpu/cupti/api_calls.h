/* SPDX-License-Identifier: MIT */
/*
 * The table api_calls.def, and the numbers of its functions in the CUPTI at hand. Numbers never move between releases, but new
 * functions get new ones, and each library knows the names of its own (docs/cupti.md, "Callback ids").
 */
#ifndef GPUPROBE_GPU_API_CALLS_H
#define GPUPROBE_GPU_API_CALLS_H

#include "../base/types.h"

#define API_CALLS_MAX 2048 /* numbers of one domain */

enum api_group {
#define GROUP(group, when) API_GROUP_##group,
#include "api_calls.def"
	API_GROUP_OTHER, /* what no row names */
	API_GROUPS
};

#define API_GROUP_BIT(group) (1U << API_GROUP_##group)

enum api_groups_when { API_WHEN_DEFAULT, API_WHEN_FULL, API_WHEN_NEVER };

/* Sets of groups, a bit each. */
enum api_groups {
	API_GROUPS_DEFAULT = 0
#define GROUP(group, when) | (API_WHEN_##when == API_WHEN_DEFAULT ? API_GROUP_BIT(group) : 0)
#include "api_calls.def"
	,
	API_GROUPS_FULL = 0 /* and those */
#define GROUP(group, when) | (API_WHEN_##when != API_WHEN_NEVER ? API_GROUP_BIT(group) : 0)
#include "api_calls.def"
	,
	API_GROUPS_EVERY = API_GROUPS_FULL | API_GROUP_BIT(OTHER), /* but what is for NEVER */
	/* Of which stacks are taken: what gives the GPU work, takes memory of it, or waits for it. */
	API_GROUPS_LAUNCHES = API_GROUP_BIT(LAUNCH) | API_GROUP_BIT(COPY) | API_GROUP_BIT(SET) |
			      API_GROUP_BIT(ALLOCATE) | API_GROUP_BIT(SYNCHRONISE),
};

/* Numbers, a bit each, by domain (enum of record.def: api_domain) - 1. */
struct api_set {
	u64 bits[2][API_CALLS_MAX / 64];
};

/* The group of a function, by its name as CUPTI or the library has it. NULL: API_GROUP_OTHER. */
enum api_group api_calls_group(u32 domain, const char *name);
/* Which numbers are of these groups. name_of: NULL where there is no such function. */
void api_calls_resolve(struct api_set *ret_set, u32 groups,
		       const char *(*name_of)(void *data, u32 domain, u32 callback), void *data);
bool api_set_has(const struct api_set *set, u32 domain, u32 callback);

#endif
