/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of several things has most of a row: sums by pairs of numbers. */
#ifndef GPUPROBE_REPORTS_TALLY_H
#define GPUPROBE_REPORTS_TALLY_H

#include "base/map.h"

#define TALLY_NOTHING 0xffffffffU

/* Zero-initialise it. */
struct tally {
	struct map known; /* (row, thing) -> place in items */
	struct tally_item {
		u32 row, thing;
		u64 amount;
	} *items;
	size_t count, capacity;
};

/* 0 or -ENOMEM. */
int tally_add(struct tally *tally, u32 row, u32 thing, u64 amount);
/* The thing of each row of which it has most, of equal ones that which came first; TALLY_NOTHING: it has none. */
void tally_most(const struct tally *tally, u32 *ret_things, size_t row_count);
void tally_free(struct tally *tally);

#endif
