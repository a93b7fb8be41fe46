/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the probes of functions that are called inside of a call took of its time: so many calls, by the price of each that was calibrated when
 * they were recorded. Of probes that only count nobody knows in which calls they struck. Zero-initialise, set view and add.
 */
#ifndef GPUPROBE_REPORTS_NESTED_PROBES_H
#define GPUPROBE_REPORTS_NESTED_PROBES_H

#include "base/map.h"
#include "view/view.h"

struct nested_probes {
	const struct view *view;
	/* For each call that nested_probes_enter() was told to watch, once, when it is over. */
	void (*add)(void *data, u32 row, u64 probes_ns);
	void *data;
	struct map prices;  /* id of the probe -> ns a call */
	struct map threads; /* (pid, tid) -> place in items */
	struct nested_thread {
		struct nested_call {
			u64 end_ns, dur_ns, probes_ns;
			u32 row;
		} *calls; /* that may still go on, outermost first */
		size_t count, capacity;
	} *items;
	size_t count, capacity;
};

#define NESTED_PROBES_NO_ROW ~0U

/* A call or an entry, in the order of time; row: the caller's, of a call whose inside is asked for. 0 or -ENOMEM. */
int nested_probes_enter(struct nested_probes *nested, const struct view_event *event, u32 probe, u32 row);
/* No more come. */
void nested_probes_finish(struct nested_probes *nested);
void nested_probes_free(struct nested_probes *nested);

#endif
