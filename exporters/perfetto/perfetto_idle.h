/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why GPUs were idle, as spans on a track of each. There are as many as kernels, and most say what one before them said: of those the bytes
 * are kept. */
#ifndef GPUPROBE_EXPORTERS_PERFETTO_PERFETTO_IDLE_H
#define GPUPROBE_EXPORTERS_PERFETTO_PERFETTO_IDLE_H

#include "exporters/idle_slices.h"
#include "exporters/perfetto/perfetto_tracks.h"

struct perfetto_idle_look;

/* Zero-initialise. */
struct perfetto_idle {
	struct idle_slices slices;
	u64 *tracks; /* per GPU */
	struct perfetto_idle_look *looks; /* IDLE_LOOKS, by their numbers */
};

/* Finds the spans and writes the tracks. perfetto_idle_free() after a failure too. */
int perfetto_idle_make(struct perfetto_idle *idle, struct perfetto_packets *packets, struct perfetto_tracks *tracks,
		       const struct view *view, struct err *err);
/* Those that begin by ts, of every GPU. */
int perfetto_idle_write(struct perfetto_idle *idle, struct perfetto_packets *packets, u64 ts, struct err *err);
void perfetto_idle_free(struct perfetto_idle *idle);

#endif
