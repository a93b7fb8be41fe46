/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When each cause of why.h was, as it is found: of each GPU three lists (what threads are not asked for, of that what the window begins with, what they
 * are asked for), each in the order of time, without overlaps. What is next to one another and the same is one.
 */
#ifndef GPUPROBE_WHY_WHY_NOTES_H
#define GPUPROBE_WHY_WHY_NOTES_H

#include "base/spool.h"
#include "why/why.h"

enum { WHY_RUN_GAPS, WHY_RUN_EDGES, WHY_RUN_THREADS, WHY_RUNS };

struct why_note {
	u64 since_ns, until_ns;
	u32 what; /* number of a string in why.whats; of WHY_CODE and WHY_CODE_OR_WAIT that of a part */
	u32 row, waiter; /* as in why_cause; ~0: none */
	u32 sort;
};

struct why_notes_list {
	struct spool spool;
	struct why_note last; /* not in it yet; until_ns 0: there is none */
};

struct why_notes_sample {
	u64 ts;
	u32 part;
};

/* Zero-initialise it but for store. */
struct why_notes {
	unsigned run;
	struct why_notes_gpu {
		struct why_notes_list lists[WHY_RUNS];
		struct why_notes_sample *samples; /* of one thread, in the time that is told of next */
		size_t sample_count, sample_capacity;
		u32 sampled_row;
	} *gpus;
	size_t gpu_count, gpu_capacity;
	u32 *parts; /* [part] number of what it is */
	struct spool_store store;
	int result; /* the first that failed: nothing more is noted then */
	struct err err;
};

/* Of all of them: notes NULL notes nothing, and what fails is in result. */
void why_notes_add(struct why_notes *notes, const struct why_cause *cause, u32 what, u64 since_ns, u64 until_ns);
/* A thread was found at code: part is a number of the caller's, which has a name in the end. */
void why_notes_add_sample(struct why_notes *notes, const struct why_cause *cause, u32 part, u64 ts);
/* It ran, which comes behind its samples in that time: a sample stands for what is nearest to it. Without one it is as for why_notes_add(). */
void why_notes_add_code(struct why_notes *notes, const struct why_cause *cause, u32 what, u64 since_ns, u64 until_ns);
/* Room for [part] the number of what it is, to be filled at once; NULL: nobody asks. */
u32 *why_notes_name_parts(struct why_notes *notes, size_t count);
/* A run is over; the next one tells of gaps from the start. */
void why_notes_end_run(struct why_notes *notes);
/* Do they touch, and are they the same? */
bool why_note_goes_on(const struct why_note *last, const struct why_note *next);
void why_notes_free(struct why_notes *notes);

#endif
