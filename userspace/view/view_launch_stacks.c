/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * By what code launches were made. A stack was taken as a thread entered a function of libcuda, and belongs
 * - to every call of the API that lies around that moment (of those with one correlation id only the outermost is a launch);
 * - else to the next call of the driver by the name of that function, which CUPTI notes a moment after it was entered. Only if it is certain:
 *   records of either side may have been dropped, so the next hit of the thread must have the next number, and no other call may have
 *   begun between the two.
 * Of a runtime's call the last hit counts: what came before loads its kernel.
 * One that was taken inside of the call (--launch-stacks agent) tells its correlation id, and belongs to the call that has it, whatever the
 * clocks say.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "view/view_parts.h"

#define LAUNCH_CALLS_MAX 8 /* in each other, on a thread */
/* What belongs together lies so close together: hundreds of threads may begin a call at the same time. */
#define PAIRS_MAX 8192

/* A call and its hit: one waits for the other, by what clocks of different origin make of their order. */
struct launch_pair {
	u64 key;			/* of source and correlation id; 0: there is none */
	u64 ts;				/* of what came first */
	struct view_launch_stack stack; /* launches 0: the hit was not met */
	u64 calls[2];			/* numbers of launches that are waiting for it; 0: none */
};

/* What lies farther apart does not belong together: a number was used again. */
#define PAIR_NS (100 * NS_PER_MILLISECOND)

struct launch_row {
	struct launch_call {
		u64 number; /* of the launch */
		u64 end;
		bool runtime;
	} calls[LAUNCH_CALLS_MAX]; /* that have begun, and were not over at the last event */
	u32 call_count;
	u32 number;  /* of the last hit, in its thread; 0: there was none */
	bool waits;  /* its call may be still to come, */
	u64 until;   /* before this moment */
	u64 guessed; /* or is that of this launch, if no hit is missing; 0: none was found */
	const char *name;
	struct view_launch_stack stack;
};

void view_launch_stacks_free(struct view_launch_stacks *stacks)
{
	free(stacks->rows);
	free(stacks->items);
	free(stacks->pairs);
	*stacks = (struct view_launch_stacks){0};
}

static int tie(struct view_launch_stacks *stacks, u64 launch, struct view_launch_stack stack)
{
	size_t before = stacks->capacity;

	if (!launch || !stack.launches)
		return 0;
	if (array_reserve(&stacks->items, &stacks->capacity, launch) < 0)
		return -ENOMEM;
	if (stacks->capacity > before)
		memset(stacks->items + before, 0,
		       (stacks->capacity - before) * sizeof(*stacks->items));
	stacks->items[launch - 1] = stack;
	return 0;
}

struct view_launch_stack view_launch_stacks_get(const struct view_launch_stacks *stacks, u64 launch)
{
	return launch && launch <= stacks->capacity ? stacks->items[launch - 1]
						    : (struct view_launch_stack){0};
}

/* Without what other releases add: cuMemcpyHtoDAsync of cuMemcpyHtoDAsync_v2_ptsz. */
static size_t plain_length(const char *name)
{
	static const char *const endings[] = {"_ptsz", "_ptds", "_v2", "_v3", "_v4"};
	size_t length = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		size_t ending = strlen(endings[i]);

		if (length > ending && !memcmp(name + length - ending, endings[i], ending))
			length -= ending;
	}
	return length;
}

static bool is_same_function(const char *a, const char *b)
{
	size_t length = plain_length(a);

	return length == plain_length(b) && !memcmp(a, b, length);
}

static void end_calls(struct launch_row *row, u64 ts)
{
	u32 kept = 0;

	for (u32 i = 0; i < row->call_count; i++)
		if (row->calls[i].end > ts)
			row->calls[kept++] = row->calls[i];
	row->call_count = kept;
}

/* The last hit is over: was what it was taken for its call? */
static int settle(struct view_launch_stacks *stacks, struct launch_row *row, bool certain)
{
	u64 launch = row->guessed;

	row->guessed = 0;
	row->waits = false;
	if (!launch)
		return 0;
	if (certain)
		return tie(stacks, launch, row->stack);
	stacks->uncertain_count += row->stack.launches != 0;
	return 0;
}

static int add_hit(struct view_launch_stacks *stacks, struct launch_row *row,
		   const struct view_event *event)
{
	const struct record_launch_stack *hit = (const void *)event->record;
	int result = settle(stacks, row,
			    !stacks->has_gaps && row->number && hit->number == row->number + 1);

	row->number = hit->number;
	row->name = event->name;
	row->stack = (struct view_launch_stack){hit->header.stack, hit->launches};
	row->waits = true;
	row->until = ~0ULL;
	for (u32 i = 0; i < row->call_count && !result; i++) {
		const struct launch_call *call = &row->calls[i];

		row->until = call->end < row->until ? call->end : row->until;
		if (call->runtime || !view_launch_stacks_get(stacks, call->number).launches)
			result = tie(stacks, call->number, row->stack);
	}
	return result;
}

static void add_call(struct launch_row *row, const struct view_event *event)
{
	const struct record_api *api = (const void *)event->record;

	if (row->waits && api->domain == VALUE_api_domain_driver && event->ts < row->until &&
	    is_same_function(row->name, event->name))
		row->guessed = event->launch;
	/* Whatever it was for has been noted by now. */
	row->waits = false;
	if (row->call_count == LAUNCH_CALLS_MAX)
		return;
	row->calls[row->call_count++] =
		(struct launch_call){.number = event->launch,
				     .end = event->end,
				     .runtime = api->domain != VALUE_api_domain_driver};
}

/* ---- by correlation id ---- */

/* What was there before has nobody to wait for any more. NULL: no memory. */
static struct launch_pair *pair_of(struct view_launch_stacks *stacks, u32 source, u64 correlation,
				   u64 ts)
{
	u64 key = (u64)source << 32 | correlation;
	struct launch_pair *pair;

	if (!stacks->pairs)
		stacks->pairs = calloc(PAIRS_MAX, sizeof(*stacks->pairs));
	if (!stacks->pairs)
		return NULL;
	pair = &stacks->pairs[(correlation + 31ULL * source) % PAIRS_MAX];
	if (pair->key != key || ts - pair->ts > PAIR_NS)
		*pair = (struct launch_pair){.key = key, .ts = ts};
	return pair;
}

static int add_told_hit(struct view_launch_stacks *stacks, const struct view_event *event)
{
	const struct record_launch_stack *hit = (const void *)event->record;
	struct launch_pair *pair =
		pair_of(stacks, hit->header.source, hit->call_correlation, event->ts);
	int result = 0;

	if (!pair)
		return -ENOMEM;
	/* A number that is used again. */
	if (pair->stack.launches)
		*pair = (struct launch_pair){.key = pair->key, .ts = event->ts};
	pair->stack = (struct view_launch_stack){hit->header.stack, hit->launches};
	for (size_t i = 0; i < ARRAY_SIZE(pair->calls) && !result; i++)
		result = tie(stacks, pair->calls[i], pair->stack);
	return result;
}

static int add_told_call(struct view_launch_stacks *stacks, const struct view_event *event)
{
	const struct record_api *api = (const void *)event->record;
	struct launch_pair *pair;

	if (!api->correlation)
		return 0;
	pair = pair_of(stacks, api->header.source, api->correlation, event->ts);
	if (!pair)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(pair->calls); i++)
		if (!pair->calls[i]) {
			pair->calls[i] = event->launch;
			break;
		}
	return tie(stacks, event->launch, pair->stack);
}

int view_launch_stacks_add(struct view_launch_stacks *stacks, const struct view_event *event)
{
	bool is_hit = event->kind->number == KIND_launch_stack;
	struct launch_row *row;
	int result;

	if (!is_hit && (event->kind->number != KIND_api || !event->launch))
		return 0;
	if (is_hit && ((const struct record_launch_stack *)event->record)->call_correlation)
		return add_told_hit(stacks, event);
	if (array_reserve(&stacks->rows, &stacks->row_capacity, event->row_index + 1) < 0)
		return -ENOMEM;
	while (stacks->row_count <= event->row_index)
		stacks->rows[stacks->row_count++] = (struct launch_row){0};
	row = &stacks->rows[event->row_index];
	end_calls(row, event->ts);
	if (is_hit)
		return add_hit(stacks, row, event);
	result = add_told_call(stacks, event);
	add_call(row, event);
	return result;
}

/* Is a hit missing of which the numbers do not tell, or may the last one be? */
bool view_has_loss(const struct view *view, const u8 *reasons, size_t reason_count)
{
	size_t count;
	const struct record_header *const *facts = view_facts(view, KIND_loss, &count);

	for (size_t i = 0; i < count; i++) {
		const struct record_loss *loss = (const void *)facts[i];

		if (loss->count && memchr(reasons, loss->reason, reason_count))
			return true;
	}
	return false;
}

void view_launch_stacks_init(struct view_launch_stacks *stacks, const struct view *view)
{
	static const u8 gaps[] = {VALUE_loss_reason_missed, VALUE_loss_reason_switched_gap,
				  VALUE_loss_reason_code_written};
	static const u8 losses[] = {VALUE_loss_reason_ring_full, VALUE_loss_reason_switched_off,
				    VALUE_loss_reason_no_storage};
	static const u8 ends[] = {VALUE_loss_reason_launch_stacks_ended};

	*stacks = (struct view_launch_stacks){
		.has_gaps = view_has_loss(view, gaps, ARRAY_SIZE(gaps)),
		.has_losses = view_has_loss(view, losses, ARRAY_SIZE(losses)),
		.ends_early = view_has_loss(view, ends, ARRAY_SIZE(ends)),
	};
}

int view_launch_stacks_finish(struct view_launch_stacks *stacks)
{
	int result = 0;

	/* Behind the last hit of a thread comes none that would have a number. Where they were ended, that of the call that was taken for its
	 * own may have been the next one. */
	for (size_t i = 0; i < stacks->row_count && !result && !stacks->ends_early; i++)
		result = settle(stacks, &stacks->rows[i], !stacks->has_gaps && !stacks->has_losses);
	free(stacks->rows);
	free(stacks->pairs);
	stacks->rows = NULL;
	stacks->pairs = NULL;
	stacks->row_count = stacks->row_capacity = 0;
	return result;
}
