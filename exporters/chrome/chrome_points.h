/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where points of one moment stand: readers pile those of a row up, the engine of Perfetto 512 high; of what is above it drops the args and draws
 * all on one place. Sums of allocations by stack, all at one moment, are many more: so many of a row stand there, the others on further rows. */
#ifndef GPUPROBE_EXPORTERS_CHROME_CHROME_POINTS_H
#define GPUPROBE_EXPORTERS_CHROME_CHROME_POINTS_H

#include "base/map.h"
#include "exporters/chrome/chrome_rows.h"

#define CHROME_POINTS_MAX 400 /* of a row at a moment; the rest of the height is for spans around them */

struct chrome_pile {
	u64 ts; /* of the latest points */
	u64 count;
};

/* Zero-initialise. */
struct chrome_points {
	struct chrome_pile *piles; /* per row of the survey */
	struct map rows;	   /* (row, number from 1 on) -> tid of a further one */
};

struct chrome_place {
	u32 pid;
	u32 tid;    /* 0: its own row */
	u64 number; /* which of the further ones, from 1 on */
	bool first; /* nothing stood there yet: it needs a name */
};

/* Of the next point of a row. 0 or -ENOMEM. */
int chrome_points_place(struct chrome_points *points, struct chrome_rows *rows,
			const struct view_event *event, struct chrome_place *ret_place);
void chrome_points_append_name(const struct chrome_rows *rows, const struct view_event *event,
			       const struct chrome_place *place, struct text *text);
void chrome_points_free(struct chrome_points *points);

#endif
