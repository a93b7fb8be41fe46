/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters computed from other events. Only for userspace/view/view*.c. */
#ifndef GPUPROBE_VIEW_COUNTERS_H
#define GPUPROBE_VIEW_COUNTERS_H

#include "base/map.h"
#include "view/view.h"

struct view_gpu;

/* Work of a GPU that is over at ts. */
struct view_work_end {
	u64 ts;
	u32 gpu;
	bool kernel;
};

struct view_counters {
	struct view *view;
	struct map places; /* (source, device) -> place in gpus */
	struct view_gpu *gpus;
	size_t gpu_count, gpu_capacity;
	struct view_work_end *ends; /* a heap */
	size_t end_count, end_capacity;
	struct map live_bytes, live_owners; /* (source, address) -> bytes; place of GPU and counter */
	u64 now;
	bool any_dirty;
	u64 bucket_ns; /* of the share of time in which a GPU works */
	size_t bucket_count, next_bucket;
	struct view_counters *surveyed; /* NULL in the survey itself */
	/* Takes the values, in time order; NULL in the survey. 0 or -errno with err set. */
	int (*emit)(void *data, const struct view_event *event, struct err *err);
	void *emit_data;
};

void view_counters_init(struct view_counters *counters, struct view *view);
void view_counters_free(struct view_counters *counters);
/* surveyed went over the same events before: what only it can know is taken from there. */
void view_counters_set_surveyed(struct view_counters *counters, struct view_counters *surveyed);
/* Before the event at ts, and with ~0 behind the last one: gives out what changed before that moment. */
int view_counters_advance(struct view_counters *counters, u64 ts, struct err *err);
int view_counters_add(struct view_counters *counters, const struct view_event *event, struct err *err);

#endif
