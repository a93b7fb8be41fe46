/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where in the gaps of a GPU the run is that asks threads for them. */
#ifndef GPUPROBE_WHY_WHY_CURSOR_H
#define GPUPROBE_WHY_WHY_CURSOR_H

#include "why/why_parts.h"

/* Zero-initialise it. */
struct why_cursor {
	struct why_gap first; /* comes before these; until_ns 0: there is none */
	struct spool_reader gaps;
	struct why_gap gap;
	bool is_over;  /* there are no more gaps */
	u64 since_ns;  /* up to where the gap is told of */
	bool has_held; /* it is known what held the gap's thread, */
	u32 held;      /* and that is why_cause.held */
	u64 held_until_ns; /* why_cause.held_until_ns */
};

/* Enters the first gap of a GPU. Both: 0 or -errno. */
int why_cursor_begin(struct why_cursor *cursor, const struct why_gaps *gaps, size_t gpu, struct err *err);
int why_cursor_next(struct why_cursor *cursor, struct err *err);
void why_cursor_free(struct why_cursor *cursor);

#endif
