/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What Kineto's readers look for and no event of a capture is: "ProfilerStep#N" around each step of the main thread, category
 * user_annotation; and on the streams of GPUs, category gpu_user_annotation, ranges: from the first to the last of the work next to
 * one another that belongs to one (view_cause.within), each inside of the one around it. No steps there: readers would count them again for each stream.
 */
#ifndef GPUPROBE_EXPORTERS_CHROME_CHROME_ANNOTATIONS_H
#define GPUPROBE_EXPORTERS_CHROME_CHROME_ANNOTATIONS_H

#include "base/text.h"
#include "exporters/chrome/chrome_rows.h"
#include "steps/view_steps.h"
#include "view/view.h"

#define CHROME_ANNOTATIONS_MAX (1U << 20) /* on GPUs; later ones are left out */

struct chrome_annotation {
	const char *category, *name; /* the annotations's, up to the next one */
	u64 ts, dur;
};

struct chrome_annotations {
	const struct view *view;
	const struct view_step_track *steps; /* NULL: there are none, or the program has such ranges itself */
	size_t next_step;
	struct text name;
	const struct chrome_rows *rows;
	struct annotated_lane *lanes; /* in the order of rows->lanes */
	size_t count; /* of all lanes */
	u64 left_out;
};

/* For a sink's open(): a run over the events, in which why GPUs were idle (why_times.h) is looked for, too. rows must outlive it.
 * Zero-initialise; chrome_annotations_free() after a failure too, before that of rows. */
int chrome_annotations_find(struct chrome_annotations *annotations, const struct view *view,
			    const struct chrome_rows *rows, struct err *err);
/* The next one that goes on the span's row and lane in front of it. Asked until there is none, of each span in time order. 0: there
 * is none, 1, or -ENOMEM. */
int chrome_annotations_next(struct chrome_annotations *annotations, const struct view_event *event,
			    struct chrome_annotation *ret_annotation);
void chrome_annotations_free(struct chrome_annotations *annotations);

#endif
