/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why GPUs were idle, as slices on a row of each GPU, of whatever process: what why/ says, in the same words as the report gpu_why. Gaps shorter than
 * CHROME_IDLE_LEAST_GAP_NS are left out: between kernels there are as many of them as kernels, and nobody could read them. A gap that is drawn is drawn
 * whole, however short its parts are.
 */
#ifndef GPUPROBE_EXPORTERS_CHROME_CHROME_IDLE_H
#define GPUPROBE_EXPORTERS_CHROME_CHROME_IDLE_H

#include "base/map.h"
#include "base/text.h"
#include "view/view.h"
#include "why/why_times.h"

#define CHROME_IDLE_LEAST_GAP_NS 2000
#define CHROME_IDLE_ARGS	 4
#define CHROME_IDLE_CATEGORY	 "idle"

struct chrome_idle_slice {
	u64 ts, dur;
	size_t gpu;	  /* of chrome_idle.gpus */
	const char *name; /* "waits: futex in next_batch"; valid up to the next one */
	struct {
		const char *name, *value; /* valid as long as chrome_idle */
	} args[CHROME_IDLE_ARGS];
	size_t arg_count;
};

/* Zero-initialise. */
struct chrome_idle {
	const struct view *view;
	struct why_times_reader reader;
	u64 next_ns;	   /* when the next one begins; ~0: there is none */
	size_t *gpus;	   /* of each the number of the first of its rows in the survey */
	size_t gpu_count;
	struct text name, scratch;
	struct string_table threads; /* "python3 (17)" */
};

/* For a sink's open(): two passes over the events where there is work of a GPU. What can't be told, for want of a temporary file, has no slices, and
 * why_times_missing() says so. chrome_idle_free() after a failure too, before the view's end. */
int chrome_idle_find(struct chrome_idle *idle, const struct view *view, struct err *err);
/* What the row is called. */
const char *chrome_idle_row_name(void);
/* The next one that begins by ts. 1; 0: there is none; or -errno. */
int chrome_idle_next(struct chrome_idle *idle, u64 ts, struct chrome_idle_slice *ret_slice, struct err *err);
void chrome_idle_free(struct chrome_idle *idle);

#endif
