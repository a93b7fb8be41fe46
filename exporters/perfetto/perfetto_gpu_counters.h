/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters of GPUs as Perfetto's own events for them, with unit and group. Readers take a value for what held up to its moment, from the value
 * before on: so what is written at a moment is the value before, and the last one at the end of the window.
 */
#ifndef GPUPROBE_EXPORTERS_PERFETTO_PERFETTO_GPU_COUNTERS_H
#define GPUPROBE_EXPORTERS_PERFETTO_PERFETTO_GPU_COUNTERS_H

#include "exporters/perfetto/perfetto_gpu.h"

/* Zero-initialise. */
struct perfetto_gpu_counters {
	struct string_table names;
	struct map places; /* (row, name) -> where it is among the counters */
	struct perfetto_gpu_counter *counters;
	size_t count, capacity;
	u64 last_ns; /* of any value */
};

/* A value of a counter on the row of a GPU. */
int perfetto_gpu_counters_write(struct perfetto_gpu_counters *counters, struct perfetto_gpu *gpu, struct perfetto_packets *packets,
				const struct view_event *event, const char *name, const struct view_value *value, struct err *err);
/* Behind all events: up to when the last values hold. */
int perfetto_gpu_counters_end(struct perfetto_gpu_counters *counters, struct perfetto_packets *packets, u64 end_ns, struct err *err);
void perfetto_gpu_counters_free(struct perfetto_gpu_counters *counters);

#endif
