/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why/why_code.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"

int why_code_init(struct why_code *code, const struct view *view, struct why_tally *tally)
{
	s64 unknown = why_what(tally->why, "");

	*code = (struct why_code){.view = view, .tally = tally};
	if (unknown < 0)
		return -ENOMEM;
	code->unknown = (u32)unknown;
	return 0;
}

s64 why_code_of(struct why_code *code, u32 pid, u32 stack)
{
	_cleanup_text_ struct text text = {0};
	const u64 *known = map_find(&code->names, pid, stack);
	struct view_frame frame;
	enum why_doing doing;
	s64 number;

	if (!stack)
		return code->unknown;
	if (known)
		return (s64)*known;
	if (why_doings_find(&code->doings, code->view, pid, stack, &doing))
		return -ENOMEM;
	text_append(&text, why_doing_words(doing));
	if (view_own_frame(code->view, pid, stack, NULL, &frame)) {
		text_append(&text, doing ? " in " : "");
		view_frame_append_name(&frame, &text);
	}
	number = text.failed ? -ENOMEM : why_what(code->tally->why, text_string(&text));
	if (number < 0 || map_set(&code->names, pid, stack, (u64)number))
		return -ENOMEM;
	return number;
}

/* Its place; -ENOMEM. */
static s64 thread_of(struct why_code *code, const struct why_cause *cause)
{
	s64 pair = why_tally_pair(code->tally, cause);
	const u64 *known = pair < 0 ? NULL : map_find(&code->places, cause->gpu, (u64)pair);

	if (known)
		return (s64)*known;
	if (pair < 0 ||
	    array_reserve(&code->threads, &code->thread_capacity, code->thread_count + 1) ||
	    map_set(&code->places, cause->gpu, (u64)pair, code->thread_count))
		return -ENOMEM;
	code->threads[code->thread_count] = (struct why_code_thread){0};
	return (s64)code->thread_count++;
}

/* NULL: no memory. */
static struct why_code_part *part_of(struct why_code *code, const struct why_code_part *wanted)
{
	u64 what = (u64)wanted->what << 32 | (u64)wanted->spot << 1 | wanted->sampled;
	const u64 *known = map_find(&code->part_places, wanted->thread, what);

	if (known)
		return &code->parts[*known];
	if (array_reserve(&code->parts, &code->part_capacity, code->part_count + 1) ||
	    map_set(&code->part_places, wanted->thread, what, code->part_count))
		return NULL;
	code->parts[code->part_count] = *wanted;
	code->parts[code->part_count].last_gap = ~0ULL;
	return &code->parts[code->part_count++];
}

static int add(struct why_code *code, struct why_code_part *wanted, u64 gap, u64 amount)
{
	s64 place = thread_of(code, &wanted->cause);
	struct why_code_part *part;

	if (place < 0)
		return -ENOMEM;
	wanted->thread = (u32)place;
	part = part_of(code, wanted);
	if (!part)
		return -ENOMEM;
	*(wanted->sampled ? &code->threads[place].samples : &code->threads[place].ns) += amount;
	part->amount += amount;
	part->gaps += part->last_gap != gap;
	part->last_gap = gap;
	return 0;
}

int why_code_add(struct why_code *code, const struct why_cause *cause, u32 what, u64 gap,
		 u64 since_ns, u64 until_ns)
{
	while (since_ns < until_ns) {
		struct why_code_part part = {.cause = *cause, .what = what};
		u64 end_ns = until_ns;

		part.cause.group = why_slices_cut(code->tally->slices, since_ns, &end_ns);
		if (add(code, &part, gap, end_ns - since_ns))
			return -ENOMEM;
		since_ns = end_ns;
	}
	return 0;
}

/* "page faults in f": of a place that is called "f". */
static s64 faults_in(struct why_code *code, u32 what)
{
	_cleanup_text_ struct text text = {0};
	const char *name = code->tally->why->whats.strings[what];

	text_append(&text, why_doing_words(WHY_DOING_FAULTS));
	if (what != code->unknown)
		text_appendf(&text, " in %s", name);
	return text.failed ? -ENOMEM : why_what(code->tally->why, text_string(&text));
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

/* A sample in a fault of an instruction, or at it: at which is told of the latter. */
static int spot_note(struct why_code *code, u32 pid, u32 stack, struct why_code_part *part)
{
	u64 address;
	bool faults;
	s64 place, what;

	if (!why_doings_spot(code->view, pid, stack, &address, &faults))
		return 0;
	place = spot_of(code, pid, address);
	what = faults || place < 0 ? 0 : faults_in(code, part->what);
	if (place < 0 || what < 0)
		return -ENOMEM;
	if (faults) {
		code->spots[place].faults++;
		return 0;
	}
	code->spots[place].itself++;
	code->spots[place].what = (u32)what;
	part->spot = (u32)place;
	return 0;
}

int why_code_sample(struct why_code *code, const struct why_cause *cause, u64 gap, u32 pid,
		    u32 stack)
{
	struct why_code_part part = {.cause = *cause, .sampled = true};
	s64 what = why_code_of(code, pid, stack);

	if (what < 0)
		return -ENOMEM;
	part.what = (u32)what;
	return spot_note(code, pid, stack, &part) ? -ENOMEM : add(code, &part, gap, 1);
}

static u64 share_of(u64 ns, u64 samples, u64 all)
{
	return (u64)((unsigned __int128)ns * samples / all);
}

/* What samples get of the time of their thread adds up to all of it. */
static u64 time_of(const struct why_code_part *part, struct why_code_thread *thread)
{
	u64 before_ns;

	if (!part->sampled)
		return thread->samples ? 0 : part->amount;
	before_ns = share_of(thread->ns, thread->shared, thread->samples);
	thread->shared += part->amount;
	return share_of(thread->ns, thread->shared, thread->samples) - before_ns;
}

static u32 what_of(const struct why_code *code, const struct why_code_part *part)
{
	const struct why_code_spot *spot = part->spot ? &code->spots[part->spot] : NULL;

	return spot && spot->faults >= WHY_CODE_FAULTS_PER_SPOT * spot->itself ? spot->what
									       : part->what;
}

int why_code_finish(struct why_code *code)
{
	for (size_t i = 0; i < code->part_count; i++) {
		const struct why_code_part *part = &code->parts[i];
		u64 ns = time_of(part, &code->threads[part->thread]);
		struct why_cause wanted = part->cause, *cause;

		if (!ns)
			continue;
		wanted.sort = part->sampled ? WHY_CODE : WHY_UNSAMPLED;
		cause = why_tally_cause(code->tally, &wanted, what_of(code, part));
		if (!cause)
			return -ENOMEM;
		cause->ns += ns;
		cause->gaps += part->gaps;
	}
	return 0;
}

void why_code_free(struct why_code *code)
{
	map_free(&code->names);
	map_free(&code->spot_places);
	free(code->spots);
	why_doings_free(&code->doings);
	map_free(&code->places);
	map_free(&code->part_places);
	free(code->threads);
	free(code->parts);
}
