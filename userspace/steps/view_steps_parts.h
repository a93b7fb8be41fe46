/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of finding steps. Only for userspace/steps/view_steps*.c. */
#ifndef GPUPROBE_STEPS_VIEW_STEPS_PARTS_H
#define GPUPROBE_STEPS_VIEW_STEPS_PARTS_H

#include "base/map.h"
#include "steps/step_name.h"
#include "steps/step_period.h"
#include "steps/view_steps.h"

/* As many launches and calls as are kept without a file, by the thread too. */
#define STEPS_IN_MEMORY_LAUNCHES (PAGED_ARRAY_ITEMS * (PAGED_ARRAY_PAGES * 3 / 4))
#define STEPS_IN_MEMORY_CALLS	 (PAGED_ARRAY_ITEMS * (PAGED_ARRAY_PAGES / 4))

/* How much of a capture is kept until it is known what its steps are; beyond that there are more passes. */
struct steps_limits {
	size_t launches; /* of all threads: enough to see what is periodic */
	size_t calls;	 /* the same of calls that launch nothing */
	size_t spans;
	size_t steps; /* more are left out */
};

struct view_steps_state {
	struct steps_limits limits;
	const char *glob; /* NULL: what the recording was told */
	bool found, worked; /* the steps are there; and what GPUs did in them */
	struct view_steps steps;
	struct steps_select *select; /* of a search that is under way */
};

/* Of this view; NULL without memory, not behind the first view_steps_times() that succeeded. */
struct view_steps_state *steps_state(const struct view *view);

/* ---- view_steps_names: what an event may be to steps, by its name, looked up once a name ---- */

struct steps_names {
	const char *glob; /* NULL: none */
	struct map known; /* (name's address, kind) -> what it is */
	struct string_table series;
	struct map items; /* (name's address or graph, process or 0) -> number of an item */
	enum step_item_type *types; /* of items, by number */
	const char **item_names;
	size_t item_count, type_capacity, item_name_capacity;
};

#define STEPS_SERIES_NONE (~0U)

struct steps_known {
	bool matches; /* the glob */
	enum step_name name;
	u32 series; /* number of what its name has in common with others; STEPS_SERIES_NONE: one too many */
};

/* Is it a range that a program made of its own will? Its source then. */
bool steps_is_range(const struct view *view, const struct view_event *event,
		    enum view_step_source *ret_source);
/* Was the end of this range or call seen? */
bool steps_has_end(const struct view_event *event);
int steps_names_find(struct steps_names *names, const struct view_event *event,
		     struct steps_known *ret_known);
/* Number of an item, by a name that stays where it is; of GPU work by what it is. -ENOMEM. Item 0 is of no use. */
s64 steps_names_item(struct steps_names *names, const char *name, enum step_item_type type);
/* Of all calls or ranges of a series, which is not STEPS_SERIES_NONE. */
s64 steps_names_optimizer(struct steps_names *names, const struct view *view, u32 series);
s64 steps_names_work(struct steps_names *names, const struct view_event *event);
void steps_names_free(struct steps_names *names);

/* ---- view_steps_select: what may be steps, by one pass over the events ---- */

/* Ranges or calls on one thread whose names have the same series. */
struct steps_series {
	size_t row_index;
	u32 key; /* in names */
	enum view_step_source source;
	enum step_name name;
	u64 count, launching_count; /* those with launches inside */
	u64 launch_count;	    /* inside */
	u64 launches_before, launches_behind; /* of its thread up to the first one, and up to the end of the last */
	bool has_several_steps; /* one of them has several inside of another series that is named like steps */
	bool has_several;	/* the same of any series */
	bool chosen;
	u64 *seen_in; /* by depth: the last range that had one of this inside */
};

/* Few. */
struct steps_items {
	struct step_item *items;
	size_t count, capacity;
};

/* One of a series. */
struct steps_span {
	const char *name;
	u64 ts, end;
	u32 series; /* its place */
};

struct steps_found {
	struct steps_names names;
	struct steps_series *series;
	size_t series_count, series_capacity;
	struct map series_index; /* (row, key and source) -> place in series */
	struct steps_span *spans; /* in time order */
	size_t span_count, span_capacity;
	bool spans_cut;	    /* there were more */
	u64 *launch_counts; /* [row] */
	struct paged_array items; /* struct step_item: what threads launched and called, by row and time */
	size_t *item_places; /* [row]: where its items begin; behind the last row where they end */
	struct steps_items points; /* what matches the glob and begins a step, in time order */
	u64 points_left_out;
	size_t steps_max;
	u64 cut_ns; /* from here on items are missing; ~0: none are */
};

/* Of the events, not yet of a track: of a run with steps_select_sink. glob: NULL for none. What items could not be kept or read
 * paged_array_check() of them says, behind the run and behind steps_choose(): what follows from them means nothing then. */
struct steps_select;

extern const struct view_sink steps_select_sink;

/* NULL: no memory. */
struct steps_select *steps_select_new(const struct view *view, const char *glob, const struct steps_limits *limits);
/* Behind the run. */
int steps_select_finish(struct steps_select *select, struct steps_found *ret_found, struct err *err);
void steps_select_free(struct steps_select *select);
void steps_found_free(struct steps_found *found);
/* Its place + 1, 0: none. */
size_t steps_found_series(const struct steps_found *found, size_t row_index, u32 key,
			  enum view_step_source source);

/* ---- view_steps_choose: the tracks, without their steps ---- */

/* What begins the steps of a track. */
struct steps_roots {
	u32 item; /* in names; with a glob: of the first of the points, all of which count */
	u64 *times_ns; /* sorted, distinct */
	u64 last_end_ns; /* where the step of the last one ends; 0: it is none, and ends the one before */
	size_t count, capacity;
};

/* Adds the tracks and marks series as chosen. ret_roots: of each track; of one whose steps are spans without times. */
int steps_choose(struct view *view, struct steps_found *found, struct view_steps *steps,
		 struct steps_roots **ret_roots, struct err *err);
void steps_roots_free(struct steps_roots *roots, size_t count);

/* ---- view_steps_build: the steps of the tracks ---- */

/* Without what GPUs did in them. A pass over the events, where what was found is not enough. */
int steps_build(struct view *view, struct steps_found *found, const struct steps_roots *roots,
		struct view_steps *steps, struct err *err);

/* ---- view_steps ---- */

/* Fills row_tracks and process_tracks from the tracks. 0 or -ENOMEM. */
int steps_index_rows(const struct view *view, struct view_steps *steps);
void steps_free(struct view_steps *steps); /* what it points to */
void steps_free_work(struct view_step_track *track);
/* The row of the thread whose steps view_steps_of_cause() looks at. */
size_t steps_row_of_cause(const struct view_steps *steps, const struct view_cause *cause);

#endif
