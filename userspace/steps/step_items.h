/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the threads of a capture launched and called, as one array of step_item (step_period.h): gathered in the order of times, over all
 * threads, and looked at thread by thread.
 */
#ifndef GPUPROBE_STEPS_STEP_ITEMS_H
#define GPUPROBE_STEPS_STEP_ITEMS_H

#include "steps/step_period.h"

/*
 * Two arrays, each in the order of times, become one in items, by row and time; launches is empty then. Those without a name are dropped,
 * and those from cut_ns on (~0: none). places: row_count + 1 of them, where those of each row begin and the last ones end.
 *
 * Where the arrays lie in files, their pages are read and written a few times, in whatever order threads take turns: once for each power of
 * 64 that is below the number of threads with items. -ENOMEM; what can't be read or written paged_array_check() of items says.
 */
int step_items_merge(struct paged_array *items, struct paged_array *launches, u64 cut_ns, size_t row_count, size_t *places);

#endif
