/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps of a program (of training, of inference), found without a word of its own, so that every output
 * has the same. In each process the first of these that there is:
 *	1. --step-name GLOB: ranges and calls of functions with that name; of CUDA API calls and of functions of which
 *	   only entries are known each begins a step that lasts to the next one. Nothing else counts then.
 *	2. ranges of NVTX or gpuprobe.h that are named like steps (step_name.h)
 *	3. ranges that come again and again on a thread that launches GPU work, of which nearly all lies inside them; calls
 *	   of probed functions that are named like steps the same
 *	4. what a thread does exactly once a period: launch the same CUDA graph, call an optimizer, launch a kernel
 *	   (step_period.h): a step is from one to the next, and one with a graph begins with what is before that (step_bounds.h)
 * A step that had not ended is none, and of steps inside one another only the outermost is one. Where nothing fits there are
 * none: a wrong step is worse than none. Of captures with too many launches to keep, the ones of rule 4 begin at the root itself, and the
 * last one is left out; those where no temporary file can be written count as such (why_short, and a note in the ledger).
 */
#ifndef GPUPROBE_STEPS_VIEW_STEPS_H
#define GPUPROBE_STEPS_VIEW_STEPS_H

#include "view/view.h"

enum view_step_source {
	STEP_OF_NAME,	   /* --step-name */
	STEP_OF_NVTX,	   /* a range of NVTX */
	STEP_OF_RANGE,	   /* a range of gpuprobe.h */
	STEP_OF_FUNCTION,  /* a probed function */
	STEP_OF_GRAPH,	   /* periodic from here on: a launch of a CUDA graph */
	STEP_OF_OPTIMIZER, /* a call of an optimizer */
	STEP_OF_KERNEL,
};

/* What the launches of a step did on one GPU. */
struct view_step_device {
	u32 device, device_number; /* as in rows */
	u64 first_ns, last_ns;	   /* start of the first work, end of the last */
	u64 busy_ns;		   /* how long at least one piece of it ran */
};

/* There may be many, and most outputs want no more of them. */
struct view_step {
	u32 number; /* in its track, from 0, in time order */
	bool gpu_recorded; /* the work of GPUs, and the calls that launch it, were recorded up to its end: else what they did in it is not known */
	u64 named_number; /* the last number that its name says ("step 12"); ~0: none */
	u64 start_ns, end_ns; /* on the host, CLOCK_MONOTONIC */
	const char *name; /* of the range, or of what begins it; never NULL */
};

/* What GPUs did in a step. Work counts to the step in which it was launched: by the track's thread, by one without a track for which a thread
 * with one waits, or by one without a track in a process that has one track only. */
struct view_step_work {
	u64 kernel_count, kernel_ns; /* kernel_ns: their durations, added up */
	u64 graph_count; /* graphs that were recorded as a whole, without their kernels */
	u64 copy_count, copy_bytes;
	u64 set_count;
	u64 busy_ns; /* sum over its devices */
	u64 first_ns, last_ns; /* the same over all devices; 0: nothing ran */
	struct view_step_device *devices; /* in the order of their first work */
	size_t device_count;
};

/* The steps of one thread: sorted by time, disjoint. */
struct view_step_track {
	size_t row_index; /* of the thread that runs or launches them */
	u32 pid, tid;
	enum view_step_source source;
	/* Each is a span of the capture, at the same start and end. Else none of them is, and who draws one makes it: it
	 * crosses no range and no call of its thread in lane 0, but begins where one may begin, and ends early where one
	 * around several steps begins or ends. */
	bool spans;
	struct view_step *steps;
	struct view_step_work *work; /* of each of them: view_step_work() */
	size_t count;
	u64 launch_count; /* of its thread: calls that gave a GPU something to do */
};

struct view_steps {
	/* The main one first: whose thread launched most. Formats that know one sequence of steps take that. */
	struct view_step_track *tracks;
	size_t track_count;
	size_t count;	/* of the steps of all tracks */
	u64 left_out;	/* steps beyond VIEW_STEPS_MAX */
	const char *step_name; /* the GLOB that was in force, NULL: none */
	const char *why_short; /* rule 4 had the first launches only, since no file for more could be written: why; NULL: it had all there is room for */
	u32 *row_tracks;     /* [row]: place of its track + 1; for the functions below, as the next */
	u32 *process_tracks; /* [row]: the same, or of its process's only track */
};

#define VIEW_STEPS_MAX (1U << 17) /* of all tracks; the first ones are kept */

/* In place of what the recording was told by --step-name; before the first view_steps(). NULL: leaves that. glob stays
 * the caller's and must outlive the view. 0 or -ENOMEM. */
int view_set_step_name(struct view *view, const char *glob);

/* Found at the first call, by two passes over the events (one where GPUs did nothing), or up to four where threads have very many launches, or probed functions
 * and ranges around what is periodic; may be called in a sink's open(). The view keeps them. */
int view_steps(const struct view *view, const struct view_steps **ret_steps, struct err *err);
/* The same without what GPUs did in each, and without the pass that this takes. */
int view_steps_times(const struct view *view, const struct view_steps **ret_steps, struct err *err);
/* Instead of the first pass, for who goes through all events anyway: that part of a run, behind which the second is called before anything else is
 * asked of steps, in an open() of that run too. sink NULL: there is nothing to look for, or it was found. */
int view_steps_search_begin(const struct view *view, struct view_part *ret_part, struct err *err);
int view_steps_search_end(const struct view *view, const struct view_steps **ret_steps, struct err *err);
/* What GPUs did in them, as a part of a run behind view_steps_times(). sink NULL: that is known, or nothing. */
struct view_part view_steps_work_part(const struct view *view);
/* The same, for a sink that goes through all events anyway: the first in its open() behind view_steps_times(), the
 * second with each span, the third in its close(). Only then the steps have all of their work. */
void view_steps_work_begin(const struct view *view);
int view_steps_work_add(const struct view *view, const struct view_event *event, struct err *err);
void view_steps_work_end(const struct view *view);

/* What GPUs did in a step of this track; nothing, where that was not asked for. */
const struct view_step_work *view_step_work(const struct view_step_track *track, const struct view_step *step);
/* The track of a row, NULL: it has none. */
const struct view_step_track *view_steps_track(const struct view_steps *steps, size_t row_index);
/* The step in which a thread was at time ts, e.g. a cause's row and time: of its own track or of the only one of its
 * process. NULL: none. */
const struct view_step *view_steps_at(const struct view_steps *steps, size_t row_index, u64 ts);
/* The step that work belongs to: of its launch's thread, else of the thread whose ranges are around it (view_cause.within), else as
 * above. NULL: none. */
const struct view_step *view_steps_of_cause(const struct view_steps *steps, const struct view_cause *cause);
/* The step that this span is, NULL: none. */
const struct view_step *view_steps_span(const struct view_steps *steps, const struct view_event *event);

/* The why_short of those that were found up to now; looks for none. */
const char *view_steps_why_short(const struct view *view);

/* "NVTX range", "kernel", ...: for people. */
const char *view_step_source_text(enum view_step_source source);

#endif
