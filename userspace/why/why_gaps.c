/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first run: when GPUs were idle, and what is behind the launch of the operation that ended it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "view/gpu_edge.h"
#include "view/gpu_places.h"
#include "why/why_parts.h"
#include "why/why_streams.h"

static const u16 work_kinds[VIEW_ROW_KINDS_MAX] = {VIEW_GPU_WORK};

/* Of a GPU, as far as it is known. */
struct progress {
	u64 until_ns; /* up to when it was busy, or the window's start */
	u64 recorded_until_ns;
	u64 gap_count;
	bool worked;
	struct gpu_edge edge;
	/* Before its first work; begin_ns 0: there is none; until_ns 0: its launch is not known. */
	struct why_gap first;
	/* The thread that launched all its work, as far as that is known; WHY_NO_ROW: none did yet. */
	size_t launcher;
	bool many_launch;
};

/* Calls of a process that launch, and whose work was not seen, behind the work that is known to be over. */
struct launching {
	u64 unmet_ns, last_unmet_ns; /* the first and the last; 0: there is none */
	bool worked, many_streams;
	u32 stream; /* of its work, if that is all of one */
};

struct run {
	const struct view *view;
	struct why_tally *tally;
	u64 start_ns;
	struct gpu_places places;
	struct why_streams streams;
	struct progress *progress;
	size_t progress_capacity;
	struct why_gaps *gaps;
	bool has_waits;		     /* for a GPU: of streams, maybe */
	struct map launching_places; /* process -> place in launching */
	struct launching *launching;
	size_t launching_count, launching_capacity;
	const char *
		other_call; /* the last that launches nothing, by its address: few are called often */
};

static int run_open(void *data, const struct view *view, const struct view_survey *survey,
		    struct err *err)
{
	struct run *run = data;

	(void)err;
	run->view = view;
	run->start_ns = survey->window_start_ns;
	run->has_waits = view_kind_count(view, KIND_sync);
	return 0;
}

static int no_memory(struct err *err)
{
	return err_errno(err, -ENOMEM, "can't look for why GPUs are idle");
}

/* Its place; -ENOMEM. */
static s64 gpu_of(struct run *run, const struct view_row *row)
{
	struct why *why = run->tally->why;
	s64 place = gpu_places_of(&run->places, run->view, row->device);
	u64 until_ns;

	if (place < 0 || (size_t)place < why->gpu_count)
		return place;
	if (array_reserve(&why->gpus, &why->gpu_capacity, why->gpu_count + 1) ||
	    array_reserve(&run->progress, &run->progress_capacity, why->gpu_count + 1) ||
	    array_reserve(&run->gaps->gpus, &run->gaps->capacity, why->gpu_count + 1) ||
	    array_reserve(&run->gaps->firsts, &run->gaps->first_capacity, why->gpu_count + 1))
		return -ENOMEM;
	until_ns = view_gpu_recorded_until(run->view, row->device);
	why->gpus[place] = (struct why_gpu){
		.device = row->device,
		.number = row->device_number,
		.recorded_ns = until_ns > run->start_ns ? until_ns - run->start_ns : 0,
	};
	run->gaps->gpus[place] = (struct spool){0};
	run->gaps->firsts[place] = (struct why_gap){0};
	run->progress[place] = (struct progress){
		.until_ns = run->start_ns, .recorded_until_ns = until_ns, .launcher = WHY_NO_ROW};
	why->gpu_count++;
	return place;
}

/* ---- gaps ---- */

/* A part of the gap that no thread is to be asked for. */
static int add_part(struct run *run, u32 gpu, enum why_sort sort, const char *name,
		    size_t row_index, u64 since_ns, u64 until_ns, struct err *err)
{
	const struct why_cause cause = {.gpu = gpu,
					.sort = sort,
					.row_index = row_index,
					.waiter = WHY_NO_ROW,
					.held = WHY_NOT_HELD};
	u64 gap = run->progress[gpu].gap_count;
	s64 what;

	if (until_ns <= since_ns)
		return 0;
	what = why_what(run->tally->why, name);
	if (what < 0 || why_tally_add(run->tally, &cause, (u32)what, gap, since_ns, until_ns))
		return no_memory(err);
	return run->tally->earlier ? why_earlier_add(run->tally->earlier, &cause, (u32)what, gap,
						     since_ns, until_ns, err)
				   : 0;
}

/* Its thread is to be asked for it. */
static int fill_gap(const struct run *run, u32 gpu, const struct view_cause *launch,
		    struct why_gap *gap)
{
	s64 name = why_tally_name(run->tally, launch->name);

	if (name < 0)
		return -ENOMEM;
	gap->number = run->progress[gpu].gap_count;
	gap->row = (u32)launch->row_index;
	gap->path = launch->within.path;
	gap->stack = launch->stack.stack;
	gap->waiter_stack = launch->within.waiter_stack;
	gap->name = (u32)name;
	return 0;
}

/* The rest of the gap is told of with it. */
static int ask_thread(struct run *run, u32 gpu, const struct why_gap *gap, struct err *err)
{
	u8 *room;
	int result =
		spool_reserve(&run->gaps->gpus[gpu], &run->gaps->store, sizeof(*gap), &room, err);

	if (result == 0)
		memcpy(room, gap, sizeof(*gap));
	return result;
}

static u64 between(u64 value, u64 least, u64 most)
{
	if (value < least)
		return least;
	return value > most ? most : value;
}

/* "event 2 of stream 9 of GPU 1: Memcpy HtoD" */
static void append_awaited(const struct run *run, const struct view_event *next,
			   const struct why_stream_wait *wait, struct text *text)
{
	const struct why_stream_work *work = why_streams_awaited(&run->streams, wait);

	if (wait->event == ~0U)
		text_append(text, "an event");
	else
		text_appendf(text, "event %u", wait->event);
	if (!work)
		return;
	if (work->row->stream_number != ~0U)
		text_appendf(text, " of stream %u", work->row->stream_number);
	if (work->row->device_number != next->row->device_number)
		text_appendf(text, " of GPU %u", work->row->device_number);
	text_appendf(text, ": %s", work->name);
}

/* "gemm in stream 7, behind its wait for event 2 of stream 9: Memcpy HtoD" */
static int add_queued(struct run *run, u32 gpu, const struct view_event *next,
		      const struct why_stream_wait *wait, u64 since_ns, u64 until_ns,
		      struct err *err)
{
	_cleanup_text_ struct text text = {0};

	text_append(&text, next->name);
	if (wait && next->row->stream_number != ~0U)
		text_appendf(&text, " in stream %u", next->row->stream_number);
	if (wait) {
		text_append(&text, ", behind its wait for ");
		append_awaited(run, next, wait, &text);
	}
	return text.failed ? no_memory(err)
			   : add_part(run, gpu, WHY_QUEUED, text_string(&text),
				      next->cause->row_index, since_ns, until_ns, err);
}

/* From one piece of work to the start of the next one, which a launch is known of. */
static int add_launched(struct run *run, u32 gpu, const struct view_event *next,
			const struct why_stream_wait *wait, u64 since_ns, u64 until_ns,
			struct err *err)
{
	const struct view_cause *launch = next->cause;
	u64 launch_ns = between(launch->ts, since_ns, until_ns);
	u64 launched_ns = between(launch->ts + launch->dur, launch_ns, until_ns);
	bool queued = launch->ts + launch->dur <= since_ns;
	struct why_gap gap = {.since_ns = since_ns,
			      .until_ns = launch_ns,
			      .launched_ns = launched_ns,
			      .begin_ns = until_ns};
	size_t row = launch->row_index;
	int result;

	if (launch_ns > since_ns)
		return fill_gap(run, gpu, launch, &gap) ? no_memory(err)
							: ask_thread(run, gpu, &gap, err);
	result = add_part(run, gpu, WHY_LAUNCH, launch->name, row, launch_ns, launched_ns, err);
	if (result == 0 && queued)
		result = add_queued(run, gpu, next, wait, launched_ns, until_ns, err);
	else if (result == 0)
		result = add_part(run, gpu, WHY_BEGIN, launch->name, row, launched_ns, until_ns,
				  err);
	return result;
}

/* How much of it is idle is known behind all work. */
static int keep_first(struct run *run, u32 gpu, const struct view_event *next, u64 since_ns,
		      u64 until_ns)
{
	const struct view_cause *launch = next->cause;
	struct why_gap *first = &run->progress[gpu].first;

	*first = (struct why_gap){.since_ns = since_ns, .begin_ns = until_ns};
	if (!launch || launch->ts <= since_ns)
		return 0;
	first->until_ns = between(launch->ts, since_ns, until_ns);
	first->launched_ns = between(launch->ts + launch->dur, first->until_ns, until_ns);
	return fill_gap(run, gpu, launch, first);
}

static int add_gap(struct run *run, u32 gpu, const struct view_event *next,
		   const struct why_stream_wait *wait, u64 since_ns, u64 until_ns, struct err *err)
{
	int result;

	if (!run->progress[gpu].worked)
		result = keep_first(run, gpu, next, since_ns, until_ns) ? no_memory(err) : 0;
	else if (next->cause)
		result = add_launched(run, gpu, next, wait, since_ns, until_ns, err);
	else
		result = add_part(run, gpu, WHY_NO_LAUNCH, next->name, WHY_NO_ROW, since_ns,
				  until_ns, err);
	run->progress[gpu].gap_count++;
	return result;
}

/* Work of a GPU: nodes of graphs run when these are launched, functions of the host on none. */
static bool launches(const char *name)
{
	if (strstr(name, "Launch"))
		return !strstr(name, "HostFunc");
	return (strstr(name, "Memcpy") || strstr(name, "Memset")) && !strstr(name, "Graph");
}

/* NULL: no memory. */
static struct launching *launching_of(struct run *run, u32 pid)
{
	const u64 *known = map_find(&run->launching_places, pid, 0);

	if (known)
		return &run->launching[*known];
	if (array_reserve(&run->launching, &run->launching_capacity, run->launching_count + 1) ||
	    map_set(&run->launching_places, pid, 0, run->launching_count))
		return NULL;
	run->launching[run->launching_count] = (struct launching){0};
	return &run->launching[run->launching_count++];
}

/* What it launched may run when the window ends. */
static int note_call(struct run *run, const struct view_event *call)
{
	u32 result = ((const struct record_api *)call->record)->result;
	struct launching *launching;

	if (call->launch || call->inner_call || call->name == run->other_call)
		return 0;
	if (!launches(call->name)) {
		run->other_call = call->name;
		return 0;
	}
	if (result && result != ~0U)
		return 0;
	launching = launching_of(run, call->record->pid);
	if (!launching)
		return -ENOMEM;
	launching->unmet_ns = launching->unmet_ns ?: call->ts;
	launching->last_unmet_ns = call->ts;
	return 0;
}

static int note_launch(struct run *run, struct progress *progress, const struct view_event *work)
{
	const struct view_cause *launch = work->cause;
	size_t row = launch ? launch->row_index : WHY_NO_ROW;
	struct launching *launching = launch ? launching_of(run, launch->pid) : NULL;

	/* What was launched before the window nobody is known of. */
	if (progress->launcher == WHY_NO_ROW)
		progress->launcher = row;
	progress->many_launch |= row != progress->launcher;
	if (!launching)
		return launch ? -ENOMEM : 0;
	launching->many_streams |= launching->worked && launching->stream != work->row->stream;
	launching->worked = true;
	launching->stream = work->row->stream;
	/* In one stream what was launched before it is over. */
	if (!launching->many_streams && launch->ts > launching->last_unmet_ns)
		launching->unmet_ns = launching->last_unmet_ns = 0;
	return 0;
}

static int run_span(void *data, const struct view_event *event, struct err *err)
{
	struct run *run = data;
	struct progress *progress;
	struct why_stream_wait wait;
	u64 since_ns, until_ns;
	bool waited;
	int result;
	s64 gpu;

	if (event->kind->number == KIND_sync && why_streams_add(&run->streams, run->view, event))
		return no_memory(err);
	if (event->kind->number == KIND_api && note_call(run, event))
		return no_memory(err);
	if (!view_row_is_of(work_kinds, event->kind->number))
		return 0;
	gpu = gpu_of(run, event->row);
	if (gpu < 0)
		return no_memory(err);
	waited = event->cause &&
		 why_streams_take(&run->streams, event->row->stream, event->cause->ts, &wait);
	progress = &run->progress[gpu];
	since_ns = between(event->ts, run->start_ns, progress->recorded_until_ns);
	until_ns = between(event->end, run->start_ns, progress->recorded_until_ns);
	if (since_ns > progress->until_ns) {
		result = add_gap(run, (u32)gpu, event, waited ? &wait : NULL, progress->until_ns,
				 since_ns, err);
		if (result < 0)
			return result;
	}
	if (run->has_waits && why_streams_add_work(&run->streams, run->view, event))
		return no_memory(err);
	if (note_launch(run, progress, event))
		return no_memory(err);
	progress->worked = true;
	gpu_edge_add(&progress->edge, run->view, event);
	since_ns = since_ns > progress->until_ns ? since_ns : progress->until_ns;
	if (until_ns > since_ns)
		run->tally->why->gpus[gpu].busy_ns += until_ns - since_ns;
	if (until_ns > progress->until_ns)
		progress->until_ns = until_ns;
	return 0;
}

/* By when its launcher's process launched what was not seen, until_ns at most. */
static u64 first_unmet(const struct run *run, const struct progress *progress, u64 until_ns)
{
	u32 pid = view_survey(run->view)->rows[progress->launcher].pid;
	const u64 *place = map_find(&run->launching_places, pid, 0);
	u64 unmet_ns = place ? run->launching[*place].unmet_ns : 0;

	return unmet_ns ? between(unmet_ns, progress->until_ns, until_ns) : until_ns;
}

/* Behind its last work: where one thread alone launches it is that one that launched nothing more, up to where it did and nothing is known of that. */
static int add_last(struct run *run, u32 gpu, struct err *err)
{
	const struct progress *progress = &run->progress[gpu];
	u64 until_ns = progress->recorded_until_ns;
	struct why_gap gap = {
		.since_ns = progress->until_ns, .row = (u32)progress->launcher, .is_last = true};
	int result = 0;

	if (progress->many_launch || progress->launcher == WHY_NO_ROW)
		until_ns = progress->until_ns;
	else
		until_ns = first_unmet(run, progress, until_ns);
	gap.until_ns = gap.launched_ns = gap.begin_ns = until_ns;
	gap.number = progress->gap_count;
	if (until_ns > progress->until_ns)
		result = ask_thread(run, gpu, &gap, err);
	if (result == 0)
		result = add_part(run, gpu, WHY_LAST, "", WHY_NO_ROW, until_ns,
				  progress->recorded_until_ns, err);
	return result;
}

static int add_ends(struct run *run, struct err *err)
{
	int result = 0;

	for (u32 gpu = 0; gpu < run->tally->why->gpu_count && result == 0; gpu++)
		result = add_last(run, gpu, err);
	return result;
}

/* Before its first work: what is not known, and from there on a gap as all are. */
static int add_first(struct run *run, u32 gpu, struct err *err)
{
	struct progress *progress = &run->progress[gpu];
	struct why_gap first = progress->first;
	u64 known_ns;

	if (!first.begin_ns)
		return 0;
	known_ns = between(gpu_edge_until(&progress->edge, run->start_ns), first.since_ns,
			   first.begin_ns);
	run->tally->why->gpus[gpu].unseen_ns = known_ns - first.since_ns;
	if (known_ns < first.begin_ns) {
		run->gaps->firsts[gpu] = first;
		run->gaps->firsts[gpu].since_ns = known_ns;
		run->gaps->firsts[gpu].is_first = true;
	}
	return add_part(run, gpu, WHY_FIRST, "", WHY_NO_ROW, first.since_ns, known_ns, err);
}

const struct view_sink why_gaps_sink = {.open = run_open, .span = run_span};

struct why_gaps_run {
	struct run run;
};

struct why_gaps_run *why_gaps_run_new(struct why_tally *tally, struct why_gaps *gaps)
{
	struct why_gaps_run *made = calloc(1, sizeof(*made));

	if (made)
		made->run = (struct run){.tally = tally, .gaps = gaps};
	return made;
}

int why_gaps_run_finish(struct why_gaps_run *run, struct err *err)
{
	return add_ends(&run->run, err);
}

int why_gaps_run_finish_edges(struct why_gaps_run *run, struct err *err)
{
	int result = 0;

	for (u32 gpu = 0; gpu < run->run.tally->why->gpu_count && result == 0; gpu++)
		result = add_first(&run->run, gpu, err);
	return result;
}

void why_gaps_run_free(struct why_gaps_run *run)
{
	if (!run)
		return;
	free(run->run.progress);
	map_free(&run->run.launching_places);
	free(run->run.launching);
	why_streams_free(&run->run.streams);
	gpu_places_free(&run->run.places);
	free(run);
}

void why_gaps_free(struct why_gaps *gaps, size_t gpu_count)
{
	for (size_t i = 0; i < gpu_count; i++)
		spool_free(&gaps->gpus[i]);
	free(gaps->gpus);
	free(gaps->firsts);
	spool_store_close(&gaps->store);
}
