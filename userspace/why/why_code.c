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
	s64 number;

	if (!stack)
		return code->unknown;
	if (known)
		return (s64)*known;
	if (view_own_frame(code->view, pid, stack, NULL, &frame))
		view_frame_append_name(&frame, &text);
	number = text.failed ? -ENOMEM : why_what(code->tally->why, text_string(&text));
	if (number < 0 || map_set(&code->names, pid, stack, (u64)number))
		return -ENOMEM;
	return number;
}

/* NULL: no memory. */
static struct why_code_thread *thread_of(struct why_code *code, u32 gpu, u32 row)
{
	const u64 *known = map_find(&code->places, gpu, row);

	if (known)
		return &code->threads[*known];
	if (array_reserve(&code->threads, &code->thread_capacity, code->thread_count + 1) ||
	    map_set(&code->places, gpu, row, code->thread_count))
		return NULL;
	code->threads[code->thread_count] = (struct why_code_thread){0};
	return &code->threads[code->thread_count++];
}

/* The same. */
static struct why_code_part *part_of(struct why_code *code, const struct why_code_part *wanted)
{
	u64 whose = (u64)wanted->row << 32 | wanted->gpu;
	u64 what = (u64)wanted->what << 1 | wanted->sampled;
	const u64 *known = map_find(&code->part_places, whose, what);

	if (known)
		return &code->parts[*known];
	if (array_reserve(&code->parts, &code->part_capacity, code->part_count + 1) ||
	    map_set(&code->part_places, whose, what, code->part_count))
		return NULL;
	code->parts[code->part_count] = *wanted;
	code->parts[code->part_count].last_gap = ~0ULL;
	return &code->parts[code->part_count++];
}

static int add(struct why_code *code, const struct why_code_part *wanted, u64 gap, u64 amount)
{
	struct why_code_thread *thread = thread_of(code, wanted->gpu, wanted->row);
	struct why_code_part *part = part_of(code, wanted);

	if (!thread || !part)
		return -ENOMEM;
	*(wanted->sampled ? &thread->samples : &thread->ns) += amount;
	part->amount += amount;
	part->gaps += part->last_gap != gap;
	part->last_gap = gap;
	return 0;
}

int why_code_add(struct why_code *code, u32 gpu, u32 row, u32 what, u64 gap, u64 ns)
{
	const struct why_code_part part = {.gpu = gpu, .row = row, .what = what};

	return add(code, &part, gap, ns);
}

int why_code_sample(struct why_code *code, u32 gpu, u32 row, u64 gap, u32 pid, u32 stack)
{
	struct why_code_part part = {.gpu = gpu, .row = row, .sampled = true};
	s64 what = why_code_of(code, pid, stack);

	if (what < 0)
		return -ENOMEM;
	part.what = (u32)what;
	return add(code, &part, gap, 1);
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

int why_code_finish(struct why_code *code)
{
	for (size_t i = 0; i < code->part_count; i++) {
		const struct why_code_part *part = &code->parts[i];
		const struct why_cause wanted = {.gpu = part->gpu,
						 .sort = part->sampled ? WHY_CODE : WHY_UNSAMPLED,
						 .row_index = part->row};
		struct why_code_thread *thread = thread_of(code, part->gpu, part->row);
		u64 ns = thread ? time_of(part, thread) : 0;
		struct why_cause *cause;

		if (!ns)
			continue;
		cause = why_tally_cause(code->tally, &wanted, part->what);
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
	map_free(&code->places);
	map_free(&code->part_places);
	free(code->threads);
	free(code->parts);
}
