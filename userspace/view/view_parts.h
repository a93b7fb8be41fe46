/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of a view. Only for the sources of this folder and their tests. */
#ifndef GPUPROBE_VIEW_VIEW_PARTS_H
#define GPUPROBE_VIEW_VIEW_PARTS_H

#include <math.h>

#include "base/map.h"
#include "view/matrix_kernels.h"
#include "view/occupancy.h"
#include "view/view.h"
#include "view/view_counters.h"

/* ---- view_kinds: what the view wants to know of a kind, looked up once ---- */

#define VIEW_NAME_FIELDS_MAX 3

/* Ids of facts that have numbers by which their process knows them. */
enum view_number {
	VIEW_NUMBER_DEVICE,
	VIEW_NUMBER_CONTEXT,
	VIEW_NUMBER_STREAM,
	VIEW_NUMBER_SOURCE_DEVICE,
	VIEW_NUMBER_DESTINATION_DEVICE,
	VIEW_NUMBERS
};

struct view_number_field {
	const struct schema_field *field; /* of the event, NULL: the kind has none */
	const struct schema_field *number; /* of the fact */
	u16 fact_kind;
};

struct view_kind {
	const struct schema_kind *kind;
	const struct schema_field *correlation; /* NULL: none; the same below */
	const struct schema_field *device;
	const struct schema_field *stream;
	const struct schema_field *probe; /* its fact gives the name of a nameless record */
	const char *name_pattern; /* what nameless records are called, NULL: see view_event_names.c */
	const struct schema_field *name_fields[VIEW_NAME_FIELDS_MAX]; /* those that stand in it */
	unsigned name_field_count;
	struct view_number_field numbers[VIEW_NUMBERS];
	u64 event_count; /* counted by the survey */
};

struct view_kinds {
	struct view_kind *kinds; /* [number] */
	size_t count;
};

int view_kinds_init(struct view_kinds *kinds);

/* ---- view_rows ---- */

#define ROW_CACHE_SIZE 256

struct row_key {
	u64 a, b;
};

struct view_rows {
	struct view_row *rows;
	struct row_key *keys; /* of each */
	size_t count;
	size_t capacity;
	size_t key_capacity;
	struct map index; /* key -> place in rows */
	struct row_cache_entry {
		struct row_key key;
		size_t place_plus_1;
	} cache[ROW_CACHE_SIZE];
};

/* Place of the record's row; a new one if there is none and add is set, else -ENOENT. */
s64 view_rows_find(struct view_rows *rows, const struct view_kind *kind,
		   const struct record_header *record, bool add);
/* The same for a GPU as a whole. */
s64 view_rows_find_device(struct view_rows *rows, u32 source, u32 pid, u32 device, bool add);
/* Names and sorts them, after the survey. */
int view_rows_finish(struct view *view);
void view_rows_free(struct view_rows *rows);

/* ---- view_names: tasks and labels ---- */

#define VIEW_LAST_DISPLAYS 1024 /* a power of two */

struct view_names {
	struct map tasks; /* (pid, tid) -> const char *; tid 0: of a process, where it is not that of its first thread */
	struct map priorities; /* (pid, tid) -> s64 */
	const char ***labels; /* [kind number][id - 1]; NULL for kinds without labels */
	size_t *label_counts;
	size_t kind_count;
	struct map made;     /* (kind, values of fields) -> const char *, of nameless records */
	struct map sampled;  /* (pid, stack) -> const char *, of samples */
	struct map displays; /* (text id, how) -> const char *, as people write it */
	struct {
		u32 text_id, how;
		const char *name; /* NULL: nothing is here */
	} last_displays[VIEW_LAST_DISPLAYS]; /* of those, by the lowest bits of the id */
	struct string_table strings; /* what was made here; they never move */
};

int view_names_init(struct view *view);
void view_names_free(struct view_names *names);

/* ---- view_event_names ---- */

void view_event_names_init(struct view_kind *kind);
/* Kernels are called as the facts of their symbols say, where there are such. 0 or -ENOMEM. */
int view_event_names_add_symbols(struct view *view);
/* The name that an event of gpuprobe.h carries with it (view_annotations.c); NULL: it is none. */
const char *view_annotation_name(const struct view *view, const struct view_kind *kind,
				 const struct record_header *record);
/* What the event is called, never NULL. */
const char *view_event_name(const struct view *view, const struct view_kind *kind,
			    const struct record_header *record);
/* The function of a kernel without namespaces, template arguments and parameters; NULL without a name. */
const char *view_short_name(const struct view *view, const struct record_header *record);
/* What other CUDA tools call an enum value, NULL where they do not. */
const char *view_word(const char *enum_name, u32 number);

/* ---- view_own_threads: what is ours in a target ---- */

struct view_own {
	struct map threads; /* (pid, tid) */
	struct view_own_code *code; /* of the agent, in captures that do not say which threads are ours */
	size_t code_count, code_capacity;
};

/* 0 or -ENOMEM. */
int view_own_init(struct view *view);
void view_own_free(struct view_own *own);
/* Is the event one of ours, and none of the target's? */
bool view_own_has(const struct view *view, const struct record_header *record);

/* ---- view_recorded: what was recorded up to a moment only ---- */

struct view_recorded {
	struct view_recording_end *ends;
	size_t count, capacity;
};

/* When the window is known. 0 or -ENOMEM. */
int view_recorded_init(struct view *view);
/* In the survey, of each event. */
void view_recorded_survey(struct view_recorded *recorded, const struct view_event *event);
void view_recorded_free(struct view_recorded *recorded);

/* ---- view_lanes: spans of a row nest within a lane ---- */

#define LANES_MAX 4096 /* of a row; what fits in none of them overlaps in the last */

struct view_lanes {
	struct lane_row *rows;
	size_t row_count;
	size_t row_capacity;
};

/* nest: whether a span may lie inside another one of its lane. */
int view_lanes_place(struct view_lanes *lanes, size_t row, bool nest, u64 ts, u64 end,
		     unsigned *ret_lane, unsigned *ret_depth);
unsigned view_lanes_count(const struct view_lanes *lanes, size_t row);
void view_lanes_free(struct view_lanes *lanes);

/* ---- view_matmul: sizes of products, from the arguments of library calls to the kernels ---- */

struct view_matmuls {
	bool wanted; /* the capture has any */
	struct matmul_row *rows; /* of threads */
	size_t row_count, row_capacity;
	struct matmul_call *calls; /* call n lies at n % MATMUL_CALLS_MAX; NULL: there was none yet */
	u64 call_count;
};

/* survey: kinds are not counted yet. */
void view_matmuls_init(struct view_matmuls *matmuls, const struct view *view, bool survey);
void view_matmuls_free(struct view_matmuls *matmuls);
/* Of each event in time order. 0 or -ENOMEM. */
int view_matmuls_add(struct view_matmuls *matmuls, const struct view_event *event);
/* Number of the call with known sizes that what is launched by this event was launched in; 0: none. */
u64 view_matmuls_launched_in(const struct view_matmuls *matmuls, const struct view_event *launch);
/* The cause of a kernel launched in the call with this number: with its sizes for the first one that asks (of a call whose
 * end was not seen, the first that multiplies), else as given. Lives until MATMUL_CALLS_MAX further calls were added. */
const struct view_cause *view_matmuls_take(struct view_matmuls *matmuls, u64 number,
					   const struct view_event *kernel,
					   const struct view_cause *cause);
/* Was the end of that call seen, so that all that was launched in it is known? */
bool view_matmuls_end_seen(const struct view_matmuls *matmuls, u64 number);

/* ---- view_launch_stacks: by what code launches were made ---- */

struct view_launch_stacks {
	struct launch_row *rows; /* of threads */
	struct launch_pair *pairs; /* by correlation id */
	size_t row_count, row_capacity;
	struct view_launch_stack *items; /* launch n lies at n - 1; behind the last, or without a stack: none is known */
	size_t capacity;
	bool has_gaps;	 /* hits are missing of which the numbers do not tell */
	bool has_losses; /* what follows the last hit of a thread may be missing */
	bool ends_early; /* and there are calls behind the last hit that had none */
	u64 uncertain_count; /* stacks of which it is not certain that they are those of the launches that follow */
};

/* Were any records lost for one of these reasons? */
bool view_has_loss(const struct view *view, const u8 *reasons, size_t reason_count);
void view_launch_stacks_init(struct view_launch_stacks *stacks, const struct view *view);
void view_launch_stacks_free(struct view_launch_stacks *stacks);
/* Of each event in time order, launch and all. 0 or -ENOMEM. */
int view_launch_stacks_add(struct view_launch_stacks *stacks, const struct view_event *event);
/* After the last one. 0 or -ENOMEM. */
int view_launch_stacks_finish(struct view_launch_stacks *stacks);
/* Of the launch with that number; launches is 0 where it is not known. */
struct view_launch_stack view_launch_stacks_get(const struct view_launch_stacks *stacks, u64 launch);

/* ---- view_launches: launches by their number ---- */

#define LAUNCHES_MAX	   (1U << 20) /* older ones are not found */
#define LAUNCHES_WHOLE	   (1U << 14) /* of so many all is kept */
#define LAUNCHES_BY_NUMBER (1U << 20)

/* Bit n - 1: number n is in it. Zero-initialise. */
struct view_bits {
	u64 *words;
	size_t capacity; /* is what is zeroed */
};

bool view_bits_has(const struct view_bits *bits, u64 number);
/* 0 or -ENOMEM. */
int view_bits_add(struct view_bits *bits, u64 number);

struct view_launch {
	struct view_cause cause;
	u32 source;
	u32 correlation;
	u64 matmul; /* number of the library call that it was made in, 0: none with known sizes */
};

struct view_launches {
	size_t max, recent_max;
	u64 count; /* ever */
	struct view_launch_item {
		u32 correlation;
		u32 origin;
	} *items; /* launch n lies at (n - 1) % max */
	size_t item_capacity;
	u64 *matmuls; /* of each, as far as there are any */
	size_t matmul_capacity;
	u32 *by_number;	  /* by correlation modulo LAUNCHES_BY_NUMBER: place in items + 1, 0: none */
	struct map table; /* (source, correlation) -> place in items, of those that by_number has no room for */
	struct launch_origin *origins;
	size_t origin_count, origin_capacity, last_origin;
	struct map origin_index;
	struct view_launch *recent; /* launch n lies at (n - 1) % recent_max */
	size_t recent_capacity;
	struct map kept;      /* number -> struct view_launch *, of older ones */
	struct view_bits late; /* which of the others were asked for: only the survey does */
	const struct view_launches *surveyed; /* what the survey left; NULL: this is the survey */
	struct view_launch older; /* that was asked for last */
};

/* 0 for LAUNCHES_MAX, LAUNCHES_WHOLE. */
void view_launches_init(struct view_launches *launches, size_t max, size_t recent_max);
/* Frees all but what the run wants to know of the survey. */
void view_launches_finish(struct view_launches *launches);
void view_launches_free(struct view_launches *launches);
/* Place of a launch, or -ENOENT. */
s64 view_launches_find(const struct view_launches *launches, u32 source, u32 correlation);
/* Is this call inside that one, of its thread? */
bool view_launches_is_inside(const struct view_launches *launches, size_t place, const struct view_event *event);
/* Was that one added as a call that only asks? */
bool view_launches_asks(const struct view_launches *launches, size_t place);
/* Lives until the next call of get or add. Of an older one the survey has no more than its number, thread, mark and sizes. NULL: no memory. */
const struct view_launch *view_launches_get(struct view_launches *launches, size_t place);
/* The oldest gives its place away; forgotten: source -> the highest correlation of such. Only where there are max. 0 or -ENOMEM. */
int view_launches_forget(struct view_launches *launches, struct map *forgotten);
/* It gets the next number. asks: its name is asked for later. 0 or -ENOMEM. */
int view_launches_add(struct view_launches *launches, const struct view_launch *launch, bool asks);

/* ---- view_cause: launches and what they launched ---- */

struct view_causes {
	struct view_launches launches;
	struct map forgotten; /* source -> highest correlation forgotten */
	struct map sources;   /* source -> its place among those with launches, from 0 */
	struct map first_calls; /* source -> the lowest correlation of its calls */
	u32 last_source;      /* of the last launch; one of these, where there is any */
	u32 last_first;	      /* and the lowest correlation of its calls */
	const char *last_name; /* of the same, and whether it only asks */
	bool last_is_query;
	struct map unmatched; /* (source, correlation) -> kernels that came without launch */
	struct map unmatched_ns; /* the same -> their time */
	u64 forgotten_count, missing_count, after_kernel_count;
	u64 work_ns, missing_ns; /* of work on streams, and of that whose launch is missing */
	u64 before_count; /* of none of these: launched before the first call that was recorded */
	const struct view_launch_stacks *stacks; /* of these launches; NULL: not known yet */
	bool calls_left_out; /* more calls were made than the options allow to be recorded */
	struct view_bits caused; /* launches that launched something */
	struct map more_effects; /* launch -> its effects beside the first, where there are such */
};

/* max, recent_max: as of view_launches_init(). */
void view_causes_init(struct view_causes *causes, size_t max, size_t recent_max);
void view_causes_free(struct view_causes *causes);
/* Fills launch and cause of the event, which come in time order; path: what the event lies in on its thread, within: what it
 * belongs to, NULL: not known; matmuls: which know of all events up to this one, NULL: without sizes. */
int view_causes_add(struct view_causes *causes, const struct view_kind *kind,
		    struct view_event *event, u32 path, const struct view_within *within,
		    struct view_matmuls *matmuls);
/*
 * Is it the record that CUPTI makes of cudaEventQuery as of a wait? A wait has its call, begun before it, wherever calls
 * are recorded, unless it began before the window; questions are not in the list of calls (gpu/cupti/api_calls.def).
 */
bool view_causes_is_poll(const struct view_causes *causes, const struct record_header *record);
/* Behind all: tells what was launched before the recording, and frees what only the adding needs. */
void view_causes_finish(struct view_causes *causes);
/* What makes the correlation ids of a source different from those of others. */
u64 view_causes_upper_half(const struct view_causes *causes, u32 source);
/* How many effects this launch had, up to now. */
u64 view_causes_effects(const struct view_causes *causes, u64 launch);

/* ---- view_paths: what a thread was in ---- */

struct view_paths {
	struct view_path *paths; /* number n at n - 1 */
	size_t count, capacity;
	struct map numbers; /* (parent, name and kind) -> number */
	struct string_table names;
	struct path_row *rows;
	size_t row_count, row_capacity;
	struct view_range *ranges; /* number n at n % PATH_RANGES_MAX; NULL: there was none yet */
	u64 range_count;
};

#define PATH_RANGES_MAX (1U << 16) /* the last ones are known */

/* Of each span, in time order; ret_path: what it lies in, 0: nothing. */
int view_paths_add(struct view_paths *paths, const struct view_event *event, u32 *ret_path);
/* What a row is in at ts, which is not before the last event. 0 or -ENOMEM. */
int view_paths_at(struct view_paths *paths, size_t row_index, u64 ts, u32 *ret_path);
/* The number of the innermost range that a row is in, as of the last call for it of these two; 0: none. */
u64 view_paths_range(const struct view_paths *paths, size_t row_index);
/* The parts of inner inside of outer. 0 or -ENOMEM. */
int view_paths_join(struct view_paths *paths, u32 outer, u32 inner, u32 *ret_path);
void view_paths_free(struct view_paths *paths);

/* ---- view_contexts: where the work of threads without ranges belongs ---- */

struct view_contexts {
	/* Of the survey. */
	struct context_thread *threads; /* by the row's place in it */
	size_t thread_count, thread_capacity;
	u32 *threads_of_rows; /* [row as sorted]: place in threads + 1, 0: none */
	size_t row_count;
	struct map leaders; /* pid -> row of the one thread that launches its work in ranges */
	struct map early_places; /* (pid << 32 | tid, when it ran again) -> place in early: who woke it then, and waits for it next */
	struct context_waiter *early;
	size_t early_count, early_capacity;
	/* Of each pass. */
	const struct view *view;
	struct map foreign; /* (pid, stack of a wait) -> whether nothing in it is the program's */
	struct map waited_for; /* (pid, tid) -> place in waiters */
	struct context_waiters *waiters;
	size_t waiter_count, waiter_capacity;
};

/* In the survey, of each event in time order; ret_mark: for the path of its cause. 0 or -ENOMEM. */
int view_contexts_survey(struct view_contexts *contexts, const struct view_event *event, u32 *ret_mark);
/* The same of each event behind that, when its cause is known. */
void view_contexts_survey_work(struct view_contexts *contexts, const struct view_event *event);
/* Behind it, when the rows are sorted. 0 or -ENOMEM. */
int view_contexts_finish(struct view_contexts *contexts, const struct view_row *rows, size_t row_count);
/* In a run, of each event in time order, behind view_paths_add(), which gave its path. contexts: of the run, zero-initialised but for the view;
 * surveyed: what the survey left. ret_within: of an API call what it belongs to. 0 or -ENOMEM. */
int view_contexts_add(struct view_contexts *contexts, const struct view_contexts *surveyed,
		      struct view_paths *paths, const struct view_event *event, u32 path,
		      struct view_within *ret_within);
void view_contexts_free(struct view_contexts *contexts);

/* ---- view_recordings: which call recorded a CUDA event ---- */

#define RECORDINGS_MAX (1U << 20) /* later ones are not known */

struct view_recording {
	u32 source, context, event, correlation, stream;
};

struct view_recordings {
	struct view_recording *items;
	size_t count, capacity;
};

/* In the survey, of each gpu_event. 0 or -ENOMEM. */
int view_recordings_add(struct view_recordings *recordings, const struct record_header *record);
/* After it, before any is looked for. */
void view_recordings_finish(struct view_recordings *recordings);
/* The last one before the wait; NULL when none was seen. */
const struct view_recording *view_recordings_find(const struct view_recordings *recordings,
						  const struct record_sync *sync);
void view_recordings_free(struct view_recordings *recordings);

/* ---- view_samples: what each sample of a running thread stands for ---- */

struct view_samples {
	struct sampled_thread {
		u64 run_ns; /* while samples were taken; 0: not known */
		u64 count;  /* of its samples */
		u64 seen;   /* of them, in the run at hand */
	} *threads;
	size_t count, capacity;
	struct map places; /* (pid, tid) -> place in threads */
};

/* In the survey, of each event. 0 or -ENOMEM. */
int view_samples_survey(struct view_samples *samples, const struct record_header *record);
/* A run begins. */
void view_samples_begin(struct view_samples *samples);
/* In a run, of each sample in its order: nanoseconds. */
u64 view_samples_weight(struct view_samples *samples, const struct record_header *record);
void view_samples_free(struct view_samples *samples);

/* ---- view_wall: where the time of threads went ---- */

struct view_wall {
	struct wall_thread {
		u64 counted[VIEW_WALL_STATES]; /* by the scheduler */
		u64 told[VIEW_WALL_STATES];    /* by waits, and samples by their periods */
		u64 sampled_ns;		       /* of the first of counted */
		u64 life_ns;
		u64 samples;
		bool seen; /* what nobody told of, in the run at hand */
	} *threads;
	size_t count, capacity;
	struct map places; /* (pid, tid) -> place in threads */
};

/* In the survey, of each event. 0 or -ENOMEM. */
int view_wall_survey(struct view_wall *wall, const struct view_event *event);
/* A run begins. */
void view_wall_begin(struct view_wall *wall);
void view_wall_free(struct view_wall *wall);

/* ---- view_ends: spans that are open, by their end ---- */

struct view_ends {
	struct open_span **heap;
	size_t count;
	size_t capacity;
	u64 sequence;
	struct open_span *spare; /* that have ended, to be used again */
};

int view_ends_push(struct view_ends *ends, const struct view_event *event);
/* Gives the ends up to and with ts to sink->end: in time order, inner before outer. */
int view_ends_flush(struct view_ends *ends, u64 ts, const struct view_sink *sink, void *data,
		    struct err *err);
void view_ends_free(struct view_ends *ends);

/* ---- view_ledger ---- */

struct view_ledger {
	struct view_loss *losses;
	size_t count;
	size_t capacity;
};

/* From the facts, the reader, and what the survey counted. */
int view_ledger_init(struct view *view, const struct view_causes *causes,
		     const struct matrix_kernels *kernels, u64 outside_window);
void view_ledger_free(struct view_ledger *ledger);

/* ---- view_computed: the computed values ---- */

typedef struct view_value view_compute(const struct view *view, const struct view_event *event);

/* NULL when no value of that name is computed for the kind. */
view_compute *view_computed(const struct schema_kind *kind, const char *name);
/* view_matmul.c: m, n, k, batch; operations */
view_compute view_compute_matmul, view_compute_matmul_flops;
/* view_computed_tables.c */
view_compute view_compute_migration_device;
view_compute view_compute_offset, view_compute_thread_name, view_compute_thread_priority, view_compute_device_and_number,
	view_compute_source_memory, view_compute_destination_memory, view_compute_managed_memory,
	view_compute_migration_name, view_compute_migrated_bytes, view_compute_migrated_bandwidth;
/* view_computed_counts.c */
view_compute view_compute_weight, view_compute_probing_percent, view_compute_average, view_compute_distribution;

static inline struct view_value value_u64(u64 number)
{
	return (struct view_value){.type = VALUE_U64, .number = number};
}

static inline struct view_value value_absent(void)
{
	return (struct view_value){.type = VALUE_ABSENT};
}

/* Absent when it is no number. */
static inline struct view_value value_decimal(double decimal)
{
	if (!isfinite(decimal))
		return value_absent();
	return (struct view_value){.type = VALUE_DECIMAL, .decimal = decimal};
}

/* Absent for NULL. */
static inline struct view_value value_string(const char *string)
{
	if (!string)
		return (struct view_value){.type = VALUE_ABSENT};
	return (struct view_value){.type = VALUE_STRING, .string = string};
}

/* ---- view_frames: stacks as functions ---- */

struct view_frames {
	const struct record_frame **sorted; /* by process, address, level */
	size_t count;
	struct view_frame *found; /* of the stack that was asked for last */
	size_t found_count, capacity;
	bool caller_missing; /* of the last address */
};

int view_frames_init(struct view *view);
void view_frames_free(struct view_frames *frames);

/* ---- view_kernel_source ---- */

struct view_kernel_sources;

/* Behind view_names_init(). */
int view_kernel_sources_init(struct view *view);
void view_kernel_sources_free(struct view_kernel_sources *sources);
struct view_value view_compute_kernel_source(const struct view *view, const struct view_event *event);
struct view_value view_compute_kernel_nodes(const struct view *view, const struct view_event *event);

/* ---- view_values ---- */

struct view_keys {
	struct view_key **keys;
	size_t count;
	size_t capacity;
};

void view_keys_free(struct view_keys *keys);

/* ---- view_occupancy ---- */

struct view_occupancies;

int view_occupancies_init(struct view *view);
/* As occupancy_of(); false without a device too. */
bool view_occupancy(const struct view *view, const struct record_kernel *kernel, struct occupancy *ret_occupancy);

/* ---- view_companion ---- */

struct view_companion;

void view_companions_free(struct view_companion *companions);

/* ------------------------------------------------------------------------------------------------------ */

struct view {
	struct capture_reader *reader;
	struct view_survey survey;
	struct view_kinds kinds;
	struct view_rows rows;
	struct view_names *names; /* pointers: they grow behind a const view */
	struct view_keys *keys;
	struct view_frames *frames;
	struct view_kernel_sources *kernel_sources;
	struct view_own own;
	struct view_recorded recorded;
	bool leaves_out_calls; /* that only a profiler causes: the capture is of a version that recorded them */
	u64 profiler_call_count; /* of the survey: how many it left out */
	struct view_companion *companions; /* the same */
	struct view_occupancies *occupancies;
	struct view_ledger ledger;
	u64 unnamed_range_count; /* for it */
	struct view_causes causes; /* as the survey left them */
	struct view_launch_stacks launch_stacks; /* the same */
	struct view_counters counters; /* the same */
	struct view_recordings recordings;
	struct view_samples samples;
	struct view_wall *wall; /* a pointer: what was seen changes behind a const view */
	struct view_contexts contexts; /* as the survey left them */
	struct view_paths paths; /* of the run at hand, or the last one */
	u64 run_count; /* ever: what tests want to know */
	struct view_attribute *attributes;
};

#endif
