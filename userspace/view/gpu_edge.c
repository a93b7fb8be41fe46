/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/gpu_edge.h"

#include <stdio.h>

/* Its agent tells of its GPUs as it begins. What the driver loads itself is there before any work is. */
static bool is_late(const struct view *view, const struct view_event *work)
{
	const struct record_header *device = view_fact(view, KIND_device, work->row->device);
	char name[32];

	snprintf(name, sizeof(name), "agent of %u", work->row->pid);
	return device && device->ts > view_survey(view)->window_start_ns &&
	       !view_attribute(view, "gpu", name);
}

void gpu_edge_add(struct gpu_edge *edge, const struct view *view, const struct view_event *work)
{
	const struct view_cause *launch = work->cause;
	u64 took_ns = launch && work->end > launch->ts ? work->end - launch->ts : work->dur;

	/* Each process has a fact of its own. */
	if (!edge->worked || edge->device != work->row->device)
		edge->is_late |= is_late(view, work);
	edge->device = work->row->device;
	if (!edge->worked) {
		edge->worked = true;
		edge->first_ns = work->ts;
		edge->first_launch_ns = launch ? launch->ts : 0;
	}
	if (took_ns > edge->longest_ns)
		edge->longest_ns = took_ns;
}

u64 gpu_edge_until(const struct gpu_edge *edge, u64 start_ns)
{
	u64 until_ns = start_ns + edge->longest_ns;

	if (!edge->worked || edge->first_ns <= start_ns)
		return start_ns;
	return until_ns >= start_ns && until_ns < edge->first_launch_ns && !edge->is_late
		       ? until_ns
		       : edge->first_ns;
}
