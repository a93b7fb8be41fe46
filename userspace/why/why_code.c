/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why/why_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "why/why_mostly.h"

typedef void append_frame(const struct view_frame *frame, struct text *text);

int why_code_init(struct why_code *code, const struct view *view, struct why_tally *tally)
{
	s64 unknown = why_what(tally->why, "");

	*code = (struct why_code){.view = view, .tally = tally, .store = SPOOL_STORE_INIT_SPARED};
	if (unknown < 0)
		return -ENOMEM;
	code->unknown = (u32)unknown;
	return 0;
}

/* "garbage collection in f", "f" of WHY_DOING_ITSELF, each found once by its map of names. */
static s64 name_of(struct why_code *code, struct map *names, u32 pid, u32 stack,
		   enum why_doing doing, append_frame *append)
{
	_cleanup_text_ struct text text = {0};
	struct view_frame frame;
	s64 number;

	text_append(&text, why_doing_words(doing));
	if (view_own_frame(code->view, pid, stack, NULL, &frame)) {
		text_append(&text, doing ? " in " : "");
		append(&frame, &text);
	}
	number = text.failed ? -ENOMEM : why_what(code->tally->why, text_string(&text));
	if (number < 0 || map_set(names, pid, stack, (u64)number))
		return -ENOMEM;
	return number;
}

s64 why_code_of(struct why_code *code, u32 pid, u32 stack)
{
	const u64 *known = map_find(&code->names, pid, stack);
	enum why_doing doing;

	if (!stack)
		return code->unknown;
	if (known)
		return (s64)*known;
	if (why_doings_find(&code->doings, code->view, pid, stack, &doing))
		return -ENOMEM;
	return name_of(code, &code->names, pid, stack, doing, view_frame_append_name);
}

s64 why_code_call_of(struct why_code *code, u32 pid, u32 stack)
{
	const u64 *known = map_find(&code->call_names, pid, stack);
	enum why_doing doing;

	if (!stack)
		return code->unknown;
	if (known)
		return (s64)*known;
	if (why_doings_find(&code->doings, code->view, pid, stack, &doing))
		return -ENOMEM;
	return name_of(code, &code->call_names, pid, stack, doing, view_frame_append_call);
}

/* What the same code is called where it is found in a fault. */
static s64 faults_of(struct why_code *code, u32 pid, u32 stack)
{
	const u64 *known = map_find(&code->fault_names, pid, stack);

	return known ? (s64)*known
		     : name_of(code, &code->fault_names, pid, stack, WHY_DOING_FAULTS,
			       view_frame_append_name);
}

static bool is_or_wait(const struct why_cause *cause)
{
	return cause->sort == WHY_CODE_OR_WAIT;
}

/* Its place; -ENOMEM. */
static s64 thread_of(struct why_code *code, const struct why_cause *cause)
{
	s64 pair = why_tally_pair(code->tally, cause);
	u64 key = (u64)is_or_wait(cause) << 32 | cause->gpu;
	const u64 *known = pair < 0 ? NULL : map_find(&code->places, key, (u64)pair);

	if (known || pair < 0)
		return known ? (s64)*known : pair;
	if (array_reserve(&code->threads, &code->thread_capacity, code->thread_count + 1) ||
	    map_set(&code->places, key, (u64)pair, code->thread_count))
		return -ENOMEM;
	code->threads[code->thread_count] = (struct why_code_thread){0};
	return (s64)code->thread_count++;
}

static u64 number_of(const struct why_code_part *part)
{
	return (u64)part->what << 32 | (u64)part->spot << 1 | part->sampled;
}

/* Its place; -ENOMEM. */
static s64 part_of(struct why_code *code, const struct why_code_part *wanted)
{
	const u64 *known = map_find(&code->part_places, wanted->thread, number_of(wanted));
	struct why_code_part *made;

	if (known)
		return (s64)*known;
	if (array_reserve(&code->parts, &code->part_capacity, code->part_count + 1) ||
	    map_set(&code->part_places, wanted->thread, number_of(wanted), code->part_count))
		return -ENOMEM;
	made = &code->parts[code->part_count];
	*made = *wanted;
	made->into = code->part_count;
	made->last_gap = ~0ULL;
	return (s64)code->part_count++;
}

/* The same of one whose thread is not set yet. */
static s64 place_of(struct why_code *code, struct why_code_part *wanted)
{
	struct why_recent *recent = why_recent_of(code->recent, &wanted->cause, number_of(wanted));
	s64 thread, place;

	if (recent->place_plus_1)
		return (s64)recent->place_plus_1 - 1;
	thread = thread_of(code, &wanted->cause);
	if (thread < 0)
		return thread;
	wanted->thread = (u32)thread;
	place = part_of(code, wanted);
	if (place >= 0)
		recent->place_plus_1 = (size_t)place + 1;
	return place;
}

static void count_gap(struct why_code_part *part, u64 gap)
{
	part->gaps += part->last_gap != gap;
	part->last_gap = gap;
}

/* Parts that are one in the end may share a gap: it is counted when they are joined. */
static void note_gap(struct why_code *code, u32 place, u64 gap)
{
	const struct why_code_sighting sighting = {.gap = gap, .part = place};
	struct why_code_part *part = &code->parts[place];
	u8 *room;

	if (part->last_gap == gap || code->failed)
		return;
	part->last_gap = gap;
	code->failed =
		spool_reserve(&code->sightings, &code->store, sizeof(sighting), &room, &code->err);
	if (!code->failed)
		memcpy(room, &sighting, sizeof(sighting));
}

static void fill_pool(struct why_code_pool *pool, const struct why_code_part *part, u64 amount)
{
	if (part->sampled) {
		pool->samples += amount;
		pool->sampled_ns += amount * part->period_ns;
	} else {
		pool->ns += amount;
	}
}

/* Its place; -ENOMEM. held: of the amount. */
static s64 add(struct why_code *code, struct why_code_part *wanted, u64 gap, u64 amount, u64 held)
{
	s64 place = place_of(code, wanted);
	struct why_code_thread *thread;

	if (place < 0)
		return -ENOMEM;
	thread = &code->threads[code->parts[place].thread];
	fill_pool(&thread->held, wanted, held);
	fill_pool(&thread->rest, wanted, amount - held);
	code->parts[place].amount += amount;
	code->parts[place].held += held;
	if (wanted->sampled)
		note_gap(code, (u32)place, gap);
	else
		count_gap(&code->parts[place], gap);
	return place;
}

/* Its time of one group; -ENOMEM. */
static s64 add_time(struct why_code *code, struct why_code_part *part, u64 gap, u64 since_ns,
		    u64 until_ns)
{
	return add(code, part, gap, until_ns - since_ns,
		   why_tally_held(&part->cause, since_ns, until_ns));
}

/* In the place of a number: all of a thread's waits, and its code. */
#define WAITED (~0U)
#define RAN    (~0U - 1)

static int add_waited(struct map *waited, size_t row, u32 what, u64 ns)
{
	u64 *known = map_find(waited, row, what);

	if (known)
		*known += ns;
	return known ? 0 : map_set(waited, row, what, ns);
}

int why_code_add(struct why_code *code, const struct why_cause *cause, u32 what, u64 gap,
		 u64 since_ns, u64 until_ns)
{
	struct why_code_part part = {.cause = *cause, .what = what};
	s64 place;

	if (since_ns >= until_ns)
		return 0;
	part.cause.group = WHY_ALL;
	place = add_time(code, &part, gap, since_ns, until_ns);
	if (place < 0)
		return -ENOMEM;
	/* When it ran, and when it waited, samples do not tell. */
	if (is_or_wait(cause))
		why_notes_add(code->tally->notes, cause, (u32)place, since_ns, until_ns);
	else
		why_notes_add_code(code->tally->notes, cause, what, since_ns, until_ns);
	if (!is_or_wait(cause) &&
	    add_waited(&code->waited, cause->row_index, RAN, until_ns - since_ns))
		return -ENOMEM;
	while (code->tally->slices && since_ns < until_ns) {
		u64 end_ns = until_ns;

		part.cause.group = why_tally_cut(code->tally, since_ns, &end_ns);
		if (part.cause.group && add_time(code, &part, gap, since_ns, end_ns) < 0)
			return -ENOMEM;
		since_ns = end_ns;
	}
	return 0;
}

/* Place of that instruction; 0 and -ENOMEM. */
static s64 spot_of(struct why_code *code, u32 pid, u64 address)
{
	const u64 *known = map_find(&code->spot_places, pid, address);

	if (known)
		return (s64)*known;
	code->spot_count += !code->spot_count;
	if (array_reserve(&code->spots, &code->spot_capacity, code->spot_count + 1) ||
	    map_set(&code->spot_places, pid, address, code->spot_count))
		return -ENOMEM;
	code->spots[code->spot_count] = (struct why_code_spot){0};
	return (s64)code->spot_count++;
}

/* Of the instruction that a stack is at: its place, and whether in a fault of it. 0: it is at none; -ENOMEM. */
static s64 spot_of_stack(struct why_code *code, u32 pid, u32 stack)
{
	const u64 *known = map_find(&code->stack_spots, pid, stack);
	s64 place = 0, packed;
	u64 address;
	bool faults = false;

	if (known)
		return (s64)*known;
	if (why_doings_spot(code->view, pid, stack, &address, &faults))
		place = spot_of(code, pid, address);
	if (place < 0)
		return place;
	packed = place << 1 | (place && faults);
	return map_set(&code->stack_spots, pid, stack, (u64)packed) ? -ENOMEM : packed;
}

/* A sample in a fault of an instruction, or at it: the latter is of page faults if the former are many. */
static int spot_note(struct why_code *code, u32 pid, u32 stack, struct why_code_part *part)
{
	s64 packed = spot_of_stack(code, pid, stack), what;
	struct why_code_spot *spot;

	if (packed <= 0)
		return (int)packed;
	spot = &code->spots[packed >> 1];
	if (packed & 1) {
		spot->faults++;
		return 0;
	}
	what = faults_of(code, pid, stack);
	if (what < 0)
		return -ENOMEM;
	spot->itself++;
	part->what_of_faults = (u32)what;
	part->spot = (u32)(packed >> 1);
	return 0;
}

/* Whichever of the two it will be called. */
static int note_caller(struct why_code *code, const struct why_code_part *part, u32 pid, u32 stack)
{
	struct why_callers *callers = &code->tally->why->callers;

	if (part->spot && why_callers_add(callers, part->what_of_faults, pid, stack, 1))
		return -ENOMEM;
	return why_callers_add(callers, part->what, pid, stack, 1);
}

int why_code_sample(struct why_code *code, const struct why_cause *cause, u64 gap, u64 ts,
		    u64 period_ns, u32 pid, u32 stack)
{
	struct why_code_part part = {.cause = *cause, .sampled = true, .period_ns = period_ns};
	s64 what = why_code_of(code, pid, stack), place;
	u64 held = why_tally_held(cause, ts, ts + 1);

	if (what < 0)
		return -ENOMEM;
	part.what = (u32)what;
	if (spot_note(code, pid, stack, &part) ||
	    why_lines_add(&code->lines, code->view, part.what, pid, stack) ||
	    note_caller(code, &part, pid, stack))
		return -ENOMEM;
	if (part.cause.group && add(code, &part, gap, 1, held) < 0)
		return -ENOMEM;
	part.cause.group = WHY_ALL;
	place = add(code, &part, gap, 1, held);
	if (place < 0)
		return -ENOMEM;
	if (!is_or_wait(cause))
		why_notes_add_sample(code->tally->notes, cause, (u32)place, ts);
	return 0;
}

int why_code_waited(struct why_code *code, size_t row, u32 what, u64 ns)
{
	return add_waited(&code->waited, row, what, ns) ||
			       add_waited(&code->waited, row, WAITED, ns)
		       ? -ENOMEM
		       : 0;
}

static u64 share_of(u64 ns, u64 samples, u64 all)
{
	return (u64)((unsigned __int128)ns * samples / all);
}

/* What samples get of a time adds up to all of it. */
static u64 take(struct why_code_pool *pool, u64 samples, u64 all)
{
	u64 before = pool->shared;

	pool->shared += samples;
	return share_of(pool->ns, pool->shared, all) - share_of(pool->ns, before, all);
}

/* What samples stand for, and of that part its share; of what is not sampled that of the rest. */
static u64 share_of_pool(const struct why_code_part *part, struct why_code_pool *pool, u64 amount)
{
	u64 ran_ns = pool->sampled_ns < pool->ns ? pool->sampled_ns : pool->ns, *shared, all, ns;

	if (!amount)
		return 0;
	shared = part->sampled ? &pool->shared : &pool->left_ns;
	all = part->sampled ? pool->samples : pool->ns;
	ns = part->sampled ? ran_ns : pool->ns - ran_ns;
	*shared += amount;
	return share_of(ns, *shared, all) - share_of(ns, *shared - amount, all);
}

static u64 time_of_either(const struct why_code_part *part, struct why_code_thread *thread,
			  u64 *ret_held_ns)
{
	*ret_held_ns = share_of_pool(part, &thread->held, part->held);
	return *ret_held_ns + share_of_pool(part, &thread->rest, part->amount - part->held);
}

/* Where there are samples elsewhere alone these stand for it. */
static u64 time_of(const struct why_code_part *part, struct why_code_thread *thread,
		   u64 *ret_held_ns)
{
	u64 all = thread->held.samples + thread->rest.samples;

	if (is_or_wait(&part->cause))
		return time_of_either(part, thread, ret_held_ns);
	*ret_held_ns = part->held;
	if (!part->sampled)
		return all ? 0 : part->amount;
	*ret_held_ns = thread->held.samples ? take(&thread->held, part->held, thread->held.samples)
					    : take(&thread->held, part->amount, all);
	return *ret_held_ns + (thread->rest.samples ? take(&thread->rest, part->amount - part->held,
							   thread->rest.samples)
						    : take(&thread->rest, part->amount, all));
}

static u32 what_of(const struct why_code *code, const struct why_code_part *part)
{
	const struct why_code_spot *spot = &code->spots[part->spot];

	return spot->faults >= WHY_CODE_FAULTS_PER_SPOT * spot->itself ? part->what_of_faults
								       : part->what;
}

/* What samples at spots are is known when all were seen: each goes to the part of what it is. */
static int join_parts(struct why_code *code)
{
	size_t count = code->part_count;

	for (size_t i = 0; i < count; i++) {
		struct why_code_part wanted = code->parts[i];
		s64 place;

		if (!wanted.spot)
			continue;
		wanted.what = what_of(code, &wanted);
		wanted.spot = 0;
		wanted.amount = wanted.held = 0;
		place = part_of(code, &wanted);
		if (place < 0)
			return -ENOMEM;
		code->parts[place].amount += code->parts[i].amount;
		code->parts[place].held += code->parts[i].held;
		code->parts[i].amount = code->parts[i].held = 0;
		code->parts[i].into = (size_t)place;
	}
	return 0;
}

/* Gaps of a GPU come in their order, so those of a part do. */
static int count_sightings(struct why_code *code, struct err *err)
{
	struct spool_reader reader = {.spool = &code->sightings, .store = &code->store};
	const void *bytes;
	int result;

	if (code->failed)
		return err_set(err, code->failed, "%s", code->err.message);
	for (size_t i = 0; i < code->part_count; i++)
		if (code->parts[i].sampled)
			code->parts[i].last_gap = ~0ULL;
	while ((result = spool_next(&reader, sizeof(struct why_code_sighting), &bytes, err)) > 0) {
		struct why_code_sighting sighting;

		memcpy(&sighting, bytes, sizeof(sighting));
		count_gap(&code->parts[code->parts[sighting.part].into], sighting.gap);
	}
	spool_reader_free(&reader);
	return result;
}

/* What most of its waits were for, while they were recorded; 0: less than half for any one thing. Where samples do not tell of code: half of what it did. */
static u32 waited_most(const struct why_code *code, const struct why_code_part *part)
{
	const struct why_code_thread *thread = &code->threads[part->thread];
	bool are_sampled = thread->held.samples + thread->rest.samples;
	size_t row = part->cause.row_index;
	const u64 *waited = map_find(&code->waited, row, WAITED);
	const u64 *ran = are_sampled ? NULL : map_find(&code->waited, row, RAN);

	for (size_t i = 0; waited && i < code->waited.capacity; i++) {
		const struct map_slot *slot = &code->waited.slots[i];

		if (slot->used && slot->key_a == row && slot->key_b < RAN &&
		    2 * slot->value > *waited + (ran ? *ran : 0))
			return (u32)slot->key_b;
	}
	return 0;
}

/* Number of what is known of a time in which a thread ran or waited. */
static s64 name_either(struct why_code *code, const struct why_code_part *part)
{
	_cleanup_text_ struct text text = {0};
	u32 most = waited_most(code, part);

	if (!most)
		return part->what;
	text_appendf(&text, "%s, as while waits were recorded",
		     code->tally->why->whats.strings[most]);
	return text.failed ? -ENOMEM : why_what(code->tally->why, text_string(&text));
}

/* Notes have parts by their places. */
static int name_parts(struct why_code *code)
{
	u32 *whats = why_notes_name_parts(code->tally->notes, code->part_count);

	for (size_t i = 0; whats && i < code->part_count; i++) {
		const struct why_code_part *part = &code->parts[code->parts[i].into];
		s64 what = is_or_wait(&part->cause) && !part->sampled ? name_either(code, part)
								      : part->what;

		if (what < 0)
			return -ENOMEM;
		whats[i] = (u32)what;
	}
	return 0;
}

/* What of a thread samples are of, of all times; or -ENOMEM. */
static int find_mostly(const struct why_code *code, struct why_mostly *ret_mostly)
{
	for (size_t i = 0; i < code->part_count; i++) {
		const struct why_code_part *part = &code->parts[i];
		const struct why_code_thread *thread = &code->threads[part->thread];
		int result = 0;

		if (part->cause.group != WHY_ALL || is_or_wait(&part->cause) || !part->amount)
			continue;
		if (part->sampled)
			result = why_mostly_add(ret_mostly, &part->cause, part->what, part->amount);
		else if (thread->held.samples + thread->rest.samples)
			result = why_mostly_add_time(ret_mostly, &part->cause, part->amount);
		if (result)
			return -ENOMEM;
	}
	return 0;
}

/* A time without a sample of which nothing else is known. */
static void name_by_others(const struct why_code *code, const struct why_mostly *mostly,
			   const struct why_code_part *part, u64 ns, struct why_cause *cause,
			   s64 *what)
{
	u32 found = *what == (s64)code->unknown && cause->sort == WHY_UNSAMPLED
			    ? why_mostly_find(mostly, &part->cause, ns)
			    : WHY_MOSTLY_UNKNOWN;

	/* Garbage is collected, and pages come, now and then. */
	if (found == WHY_MOSTLY_UNKNOWN ||
	    why_doing_of_words(code->tally->why->whats.strings[found]))
		return;
	cause->sort = WHY_CODE;
	*what = found;
}

static int tell(struct why_code *code, const struct why_mostly *mostly)
{
	for (size_t i = 0; i < code->part_count; i++) {
		const struct why_code_part *part = &code->parts[i];
		u64 held_ns, ns = time_of(part, &code->threads[part->thread], &held_ns);
		struct why_cause wanted = part->cause, *cause;
		s64 what = part->what;

		if (!ns)
			continue;
		wanted.sort = part->sampled ? WHY_CODE : WHY_UNSAMPLED;
		if (is_or_wait(&part->cause) && !part->sampled) {
			wanted.sort = WHY_CODE_OR_WAIT;
			what = name_either(code, part);
		}
		name_by_others(code, mostly, part, ns, &wanted, &what);
		cause = what < 0 ? NULL : why_tally_cause(code->tally, &wanted, (u32)what);
		if (!cause)
			return -ENOMEM;
		cause->ns += ns;
		cause->held_ns += held_ns;
		cause->gaps += part->gaps;
	}
	return 0;
}

int why_code_finish(struct why_code *code, struct err *err)
{
	struct why_mostly mostly = {0};
	int result;

	if (join_parts(code) || why_lines_find(&code->lines, &code->tally->why->hot_lines) ||
	    name_parts(code))
		return err_errno(err, -ENOMEM, "can't tell why GPUs are idle");
	result = count_sightings(code, err);
	if (result == 0 && (find_mostly(code, &mostly) || tell(code, &mostly)))
		result = err_errno(err, -ENOMEM, "can't tell why GPUs are idle");
	why_mostly_free(&mostly);
	return result;
}

void why_code_free(struct why_code *code)
{
	map_free(&code->names);
	map_free(&code->call_names);
	map_free(&code->fault_names);
	map_free(&code->stack_spots);
	map_free(&code->spot_places);
	free(code->spots);
	why_doings_free(&code->doings);
	why_lines_free(&code->lines);
	map_free(&code->places);
	map_free(&code->waited);
	map_free(&code->part_places);
	free(code->threads);
	free(code->parts);
	spool_free(&code->sightings);
	spool_store_close(&code->store);
}
