/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work of GPUs as Perfetto's own events for it (render stages): a stream is a hardware queue, with the process by its context. They overlap as
 * they may, and have no track event beside them. A call names the events that it led to, by numbers that follow from the number of the launch: the
 * call comes first.
 */
#ifndef GPUPROBE_EXPORTERS_PERFETTO_PERFETTO_GPU_H
#define GPUPROBE_EXPORTERS_PERFETTO_PERFETTO_GPU_H

#include "exporters/perfetto/perfetto_launches.h"
#include "exporters/perfetto/perfetto_packets.h"

/* Zero-initialise. */
struct perfetto_gpu {
	const struct view *view;
	struct perfetto_launches details;
	struct map gpus;     /* device -> its GPU's number */
	struct map launches; /* with several effects -> how many of them have come, and are still to come */
	u64 uncaused;	     /* events that no launch led to */
};

/* Tells of the GPUs. perfetto_gpu_free() after a failure too. */
int perfetto_gpu_make(struct perfetto_gpu *gpu, struct perfetto_packets *packets, const struct view *view, struct err *err);
/* The number of the GPU of a row; 0 where nothing is known of it, as of the first one. */
bool perfetto_gpu_is_known(struct perfetto_gpu *gpu, const struct view_row *row);
u32 perfetto_gpu_number(struct perfetto_gpu *gpu, const struct view_row *row);
/* Is the event such work? */
bool perfetto_gpu_takes(const struct view_event *event);
int perfetto_gpu_write(struct perfetto_gpu *gpu, struct perfetto_packets *packets, const struct view_event *event, struct err *err);
/* Appends to the event of a launch, in packets->body, what it led to. 0 or -ENOMEM. */
int perfetto_gpu_append_launched(struct perfetto_gpu *gpu, struct perfetto_packets *packets, const struct view_event *event);
/* The number of an effect of a launch, by its place: the first has the launch's number, further ones have their place above it. */
static inline u64 perfetto_gpu_effect_of(u64 launch, u64 place)
{
	return launch | place << 40;
}

/* That of an effect that has come; of what no launch led to a number that no launch names. */
u64 perfetto_gpu_effect(struct perfetto_gpu *gpu, const struct view_event *event);
void perfetto_gpu_free(struct perfetto_gpu *gpu);

#endif
