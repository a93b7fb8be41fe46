/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From when on it is known that a GPU is idle: what was launched before the recording of its process began is not recorded, nor is in the window what
 * began before it, and either may run up to where the first work is. As long as that may have taken as any work that was recorded took from its launch
 * to its end, so long nothing is known; where an agent came into its process inside the window, up to that work.
 */
#ifndef GPUPROBE_VIEW_GPU_EDGE_H
#define GPUPROBE_VIEW_GPU_EDGE_H

#include "view/view.h"

/* Of a GPU, or of a process. Zero-initialise it. */
struct gpu_edge {
	bool worked;
	bool is_late;	     /* a process of its work was recorded only from within the window on */
	u32 device;	     /* id of the fact of the last work */
	u64 first_ns;	     /* when the first work began */
	u64 first_launch_ns; /* when its launch did; 0: not known */
	u64 longest_ns;	     /* from a launch to the end of its work */
};

/* VIEW_GPU_WORK, in the order of time. */
void gpu_edge_add(struct gpu_edge *edge, const struct view *view, const struct view_event *work);
/* Behind all work: up to when nothing is known, start_ns at least, and the first work at most: not into the launch of that, which may have waited for
 * what is not known. Without work it is start_ns. */
u64 gpu_edge_until(const struct gpu_edge *edge, u64 start_ns);

#endif
