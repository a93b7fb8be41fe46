/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Statistics of calls by function, i.e. by (name, binary): exact, also the median, in bounded memory (what
 * does not fit is sorted in a temporary file). Calls whose end was not seen (entries, calls still open)
 * count, but have no part in the times.
 */
#ifndef GPUPROBE_REPORTS_STATISTICS_H
#define GPUPROBE_REPORTS_STATISTICS_H

#include "base/array.h"
#include "base/err.h"
#include "view/view.h"

struct statistics_row {
	char *name;
	char *binary;	 /* path of its file, "" when unknown */
	bool stepped;	 /* each time contains the single step of its first instruction */
	u64 call_count;	 /* all */
	u64 timed_count; /* those whose end was seen: what follows is of these, 0 when there are none */
	u64 total_ns;	 /* stays at UINT64_MAX where it would be more */
	u64 minimum_ns, maximum_ns;
	double average_ns;
	double median_ns;    /* of an even count the mean of the two in the middle */
	double deviation_ns; /* standard deviation of the sample (n - 1), 0 for a single call */
	/* Of functions of which calls were only counted: how many took from 2^n ns to below 2^(n + 1); else NULL. Then median
	 * and deviation are not known. */
	u64 *buckets;
	/* What its probe cost the targets; cpu_ns 0: not known. */
	u64 cost_ns, cpu_ns;
	u64 probes_inside_ns; /* of total_ns, what probes of calls inside took, estimated: nested_probes.h */
	u64 switched_off_ns; /* when its probe was switched off; 0: it was not */
};

#define STATISTICS_BUCKETS ARRAY_SIZE(((struct record_function_total *)0)->buckets)

struct statistics;

/* memory_bytes: of durations, before they go to a temporary file; what the functions themselves take comes
 * on top. */
int statistics_create(size_t memory_bytes, struct statistics **ret_statistics, struct err *err);
struct statistics *statistics_free(struct statistics *statistics); /* NULL allowed; returns NULL */

/* A number for the function, to be given to statistics_add. */
int statistics_function(struct statistics *statistics, const char *name, const char *binary,
			u32 *ret_function, struct err *err);
int statistics_add(struct statistics *statistics, u32 function, u64 duration_ns, struct err *err);
/* A call whose end was not seen. */
void statistics_add_untimed(struct statistics *statistics, u32 function);

/* Calls that were only counted. */
int statistics_add_total(struct statistics *statistics, u32 function,
			 const struct record_function_total *total, struct err *err);
/* Of functions that are known by now. */
void statistics_add_cost(struct statistics *statistics, const struct view *view,
			 const struct record_probe_cost *cost);

/* Ends the adding. Rows in the order in which the functions were first seen; statistics keeps them. */
int statistics_finish(struct statistics *statistics, const struct statistics_row **ret_rows,
		      size_t *ret_count, struct err *err);

/* For qsort() of pointers to rows: those that took most time first. */
int statistics_compare_by_time(const void *a, const void *b);

/* Adds all calls and entries of a view; data: struct statistics. It holds for one run. */
extern const struct view_sink statistics_sink;

#endif
