/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The USDT probes that -U names, added to a plan: where they stand in the files that the targets map, what their arguments
 * are, which of them begin and end a span.
 */
#ifndef GPUPROBE_PLAN_PLAN_USDT_H
#define GPUPROBE_PLAN_PLAN_USDT_H

#include "plan/plan.h"

struct plan_usdt_request {
	char *const *patterns; /* see plan/usdt_pattern.h */
	size_t count;
	size_t optional_count; /* the first so many may match nothing */
};

/* Each pattern but the optional ones must match something: -ENOENT names what is there. More places than
 * limits->max_functions: -E2BIG. Reads the notes of the files. */
int plan_add_usdt(struct plan *plan, const struct target *targets, size_t target_count,
		  const struct plan_usdt_request *request, const struct plan_limits *limits, struct err *err);
/* Their places, in all. */
size_t plan_usdt_sites(const struct plan *plan);
/* "postgresql:query" for the probe that begins it; the caller frees; NULL: no memory. */
char *plan_usdt_span_name(const struct plan_usdt *usdt);

#endif
