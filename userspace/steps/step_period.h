/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a thread does exactly once a period. Pure: from a sequence of things that it launched or called.
 *
 * A thing is a root when, between one occurrence and the next, the thread launches about the same amount of GPU work
 * nearly every time, and of a kernel exactly the same pieces half of the time; when most of its work lies in such periods (else it is a loop inside of something larger); and
 * when the host takes part in nearly each of them (a copy from or to it, a wait), or they are all exactly the same: layers of a
 * model repeat too, but the host has no part in them, and what comes before the first one makes one of them different. Of several roots those that
 * come most often are taken, of these graph launches before optimizers before kernels, of these the one before which
 * the thread had paused longest.
 */
#ifndef GPUPROBE_STEPS_STEP_PERIOD_H
#define GPUPROBE_STEPS_STEP_PERIOD_H

#include "base/paged_array.h"

#define STEP_PERIODS_MIN 3

enum step_item_type {
	STEP_ITEM_HOST, /* the host takes part: no root, and no GPU work; it takes something, or waits */
	STEP_ITEM_INPUT, /* the same: it gives something */
	STEP_ITEM_KERNEL,
	STEP_ITEM_OPTIMIZER, /* no GPU work itself */
	STEP_ITEM_GRAPH,
	STEP_ITEM_OTHER, /* GPU work that says nothing of periods */
};

struct step_item {
	u64 ts_ns;
	u32 row;  /* the caller's */
	u32 name; /* what it is: below name_count */
	u64 end_ns; /* of the call; for step_bounds.h alone */
};

/* Those of one thread, in time order. */
struct step_sequence {
	struct paged_array *items; /* of struct step_item; what can't be read of it is for the caller to check */
	size_t first, count;	   /* of them */
	const enum step_item_type *types; /* by name */
};

/* Valid until the next call. */
static inline const struct step_item *step_sequence_at(const struct step_sequence *sequence, size_t place)
{
	return paged_array_at(sequence->items, sequence->first + place);
}

/* ret_root: the name, below name_count, that begins each period. -ENOENT: nothing is periodic; -ENOMEM. */
int step_period_find(const struct step_sequence *sequence, size_t name_count, u32 *ret_root);

#endif
