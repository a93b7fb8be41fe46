/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why GPUs were idle, as slices on a row of each GPU, of whatever process: what why/ says, in the same words as the report gpu_why. Gaps shorter than
 * IDLE_LEAST_GAP_NS are left out: between kernels there are as many of them as kernels, and nobody could read them. A gap that is drawn is drawn
 * whole, however short its parts are.
 */
#ifndef GPUPROBE_EXPORTERS_IDLE_SLICES_H
#define GPUPROBE_EXPORTERS_IDLE_SLICES_H

#include "base/map.h"
#include "base/text.h"
#include "view/view.h"
#include "why/why_times.h"

#define IDLE_LEAST_GAP_NS 2000
#define IDLE_ARGS	 4
#define IDLE_CATEGORY	 "idle"
#define IDLE_LOOKS	 256 /* that are kept: a power of two */

struct idle_slice {
	u64 ts, dur;
	size_t gpu;	  /* of idle_slices.gpus */
	const char *name; /* UTF-8: "waits: futex in next_batch"; valid as long as idle_slices */
	struct {
		const char *name, *value; /* UTF-8; valid as long as idle_slices */
	} args[IDLE_ARGS];
	size_t arg_count;
	u64 look; /* a number, from 1 on, that no slice with another name or other args has: most are as one before */
};

/* What is said of why_time. */
struct idle_look {
	struct why_time time;
	struct idle_slice slice; /* look 0: none is kept here */
};

/* Zero-initialise. */
struct idle_slices {
	const struct view *view;
	struct why_times_reader reader;
	u64 next_ns;	   /* when the next one begins; ~0: there is none */
	size_t *gpus;	   /* of each the number of the first of its rows in the survey */
	size_t gpu_count;
	struct text scratch;
	struct string_table texts; /* names, and "python3 (17)" */
	struct map names;	   /* (sort, address of what) -> number of the name in texts */
	struct map threads;	   /* row -> the same of the thread */
	struct idle_look kept[IDLE_LOOKS];
	u64 looks; /* numbers given */
};

/* For a sink's open(): two passes over the events where there is work of a GPU. What can't be told, for want of a temporary file, has no slices, and
 * why_times_missing() says so. idle_slices_free() after a failure too, before the view's end. */
int idle_slices_find(struct idle_slices *idle, const struct view *view, struct err *err);
/* What the row is called. */
const char *idle_slices_row_name(void);
/* The next one that begins by ts. 1; 0: there is none; or -errno. */
int idle_slices_next(struct idle_slices *idle, u64 ts, struct idle_slice *ret_slice, struct err *err);
void idle_slices_free(struct idle_slices *idle);

#endif
