/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When GPUs were idle, and why then: the causes of why.h as spans of their GPU, for who draws them. Those of a GPU are disjoint, come in the order of
 * time and cover its idle time, each nanosecond once. Their sums are those of the causes; only of what code a thread ran, a span has the nearest
 * sample, where a cause's time is shared out by all samples of that thread, and where waits are not recorded a span is of code or waits, samples or not.
 */
#ifndef GPUPROBE_WHY_WHY_TIMES_H
#define GPUPROBE_WHY_WHY_TIMES_H

#include "why/why.h"

struct why_time {
	u64 since_ns, until_ns;
	enum why_sort sort;
	u32 gpu;
	const char *what;	  /* as why_cause.what */
	size_t row_index, waiter; /* as there */
};

struct why_times;

/* Found at the first call, by a run over the view, which keeps them; may be called in a sink's open(). */
int why_times(const struct view *view, const struct why_times **ret_times, struct err *err);
/* Finds them, with others in that run; others run by themselves where there is no work of GPUs, or they are found. That there is no room for
 * them in a temporary file (base/temporary_file.h) is no error here, and told of by why_times(); any other is one, and nothing is found then. */
int why_times_beside(const struct view *view, const struct view_part *others, size_t count, struct err *err);
/* Why they could not be found; NULL: they could, or nobody asked. Valid as long as the view. */
const char *why_times_missing(const struct view *view);
/* The GPUs that why_time.gpu counts. */
const struct why_gpu *why_times_gpus(const struct why_times *times, size_t *ret_count);

/* Of all GPUs, those that begin earlier first. Zero-initialise it; it is to be freed in every case, before the view is. */
struct why_times_reader {
	const struct why_times *times;
	u64 least_gap_ns;
	struct why_times_gpu *gpus;
	size_t count;
};

/* Those of gaps of that much and more, whole: a gap is what a GPU was idle at a stretch. */
int why_times_read(struct why_times_reader *reader, const struct why_times *times, u64 least_gap_ns, struct err *err);
/* When the next one begins; ~0: there is none. */
u64 why_times_next_ns(const struct why_times_reader *reader);
/* The next one, which there is. */
int why_times_next(struct why_times_reader *reader, struct why_time *ret_time, struct err *err);
void why_times_reader_free(struct why_times_reader *reader);

#endif
