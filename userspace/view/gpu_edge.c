/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/gpu_edge.h"

/* Its agent tells of its GPUs first. */
static u64 recorded_from(const struct view *view, const struct view_event *work)
{
	const struct record_header *device = view_fact(view, KIND_device, work->row->device);

	return device ? device->ts : 0;
}

void gpu_edge_add(struct gpu_edge *edge, const struct view *view, const struct view_event *work)
{
	const struct view_cause *launch = work->cause;
	u64 took_ns = launch && work->end > launch->ts ? work->end - launch->ts : work->dur;

	if (!edge->worked) {
		edge->worked = true;
		edge->recorded_ns = recorded_from(view, work);
		edge->first_ns = work->ts;
		edge->first_launch_ns = launch ? launch->ts : 0;
	}
	if (took_ns > edge->longest_ns)
		edge->longest_ns = took_ns;
}

u64 gpu_edge_until(const struct gpu_edge *edge, u64 start_ns)
{
	u64 since_ns = edge->recorded_ns > start_ns ? edge->recorded_ns : start_ns;
	u64 until_ns = since_ns + edge->longest_ns;

	if (!edge->worked || edge->first_ns <= start_ns)
		return start_ns;
	return until_ns < edge->first_launch_ns ? until_ns : edge->first_ns;
}
