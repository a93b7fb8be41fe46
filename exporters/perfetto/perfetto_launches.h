/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of work of a GPU besides its name and times, as its launch: sizes, and arguments with names that readers look for. Most of it is
 * the same for every run of a kernel of one size, and is kept as bytes.
 */
#ifndef GPUPROBE_EXPORTERS_PERFETTO_PERFETTO_LAUNCHES_H
#define GPUPROBE_EXPORTERS_PERFETTO_PERFETTO_LAUNCHES_H

#include "exporters/chrome/chrome_args.h"
#include "exporters/perfetto/perfetto_packets.h"

struct perfetto_shape;

/* Zero-initialise. */
struct perfetto_launches {
	const struct view *view;
	struct chrome_args shape_args; /* that follow from the fields of a kernel that make its shape */
	struct chrome_args run_args;   /* that differ from run to run */
	struct perfetto_shape *shapes;
	struct text shape, run; /* of the event at hand: fields of its launch */
};

/* perfetto_launches_free() after a failure too. */
int perfetto_launches_make(struct perfetto_launches *launches, const struct view *view, struct err *err);
/* Appends the launch of an event to packets->body. */
void perfetto_launches_append(struct perfetto_launches *launches, struct perfetto_packets *packets, const struct view_event *event);
void perfetto_launches_free(struct perfetto_launches *launches);

#endif
