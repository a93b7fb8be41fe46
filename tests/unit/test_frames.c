/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pairing of calls by stack pointer: the same code that runs as BPF. */
#include "base/types.h"
#include "../bpf/frames.h"
#include "unit.h"

/* As the BPF programs use it: what was dropped at the entry of a call. */
static unsigned drop_dead(struct frames *frames, u64 sp, bool slot_hijacked)
{
	unsigned dropped = 0;

	while (frames_top_is_dead(frames, sp, slot_hijacked)) {
		frames_pop(frames);
		dropped++;
	}
	return dropped;
}

static bool enter(struct frames *frames, u64 sp, u32 probe)
{
	drop_dead(frames, sp, false);
	return frames_push(frames, sp, sp, probe, 0);
}

TEST(nested_calls_end_from_the_inside)
{
	struct frames frames = {0};

	CHECK(!frames_top(&frames));
	CHECK(enter(&frames, 1000, 1));
	CHECK(enter(&frames, 900, 2));
	CHECK_U64(frames_top(&frames)->probe, 2);
	CHECK_U64(drop_dead(&frames, 900, true), 0);
	frames_pop(&frames);
	CHECK_U64(frames_top(&frames)->probe, 1);
	frames_pop(&frames);
	frames_pop(&frames);
	CHECK(!frames_top(&frames));
}

TEST(a_call_above_left_frames_ends_them)
{
	struct frames frames = {0};

	enter(&frames, 1000, 1);
	enter(&frames, 900, 2);
	enter(&frames, 800, 3);
	/* longjmp from 3 to 1, which calls 4 at 950 */
	CHECK_U64(drop_dead(&frames, 950, false), 2);
	CHECK_U64(frames_top(&frames)->probe, 1);
}

TEST(the_same_slot_again_is_a_new_call_unless_it_is_hijacked)
{
	struct frames frames = {0};

	enter(&frames, 1000, 1);
	enter(&frames, 900, 2);
	CHECK_U64(drop_dead(&frames, 900, true), 0); /* 2 jumps to 3: a tail call */
	CHECK(!frames_is_open_at(&frames, 900, 3));
	frames_push(&frames, 900, 1, 3, 0);
	CHECK(frames_is_open_at(&frames, 900, 2));
	CHECK(frames_is_open_at(&frames, 900, 3));
	CHECK(!frames_is_open_at(&frames, 900, 1));
	CHECK(!frames_is_open_at(&frames, 1000, 1));  /* not innermost */
	CHECK_U64(drop_dead(&frames, 900, false), 2); /* 1 calls anew after a longjmp */
}

/* As session_return() does it. */
static u64 returned_from(struct frames *frames, u64 sp, u32 probe)
{
	u64 found = sp;

	for (u32 step = 0; step < FRAMES_MAX; step++)
		if (!frames_search_return(frames, step, sp, probe, &found))
			break;
	return found;
}

TEST(a_return_that_pops_its_arguments)
{
	struct frames frames = {0};

	enter(&frames, 1000, 1);
	enter(&frames, 900, 2);
	enter(&frames, 800, 3);
	frames_push(&frames, 800, 1, 4, 0);
	CHECK_U64(returned_from(&frames, 816, 4), 800); /* ret $16 */
	CHECK_U64(returned_from(&frames, 816, 3), 800);
	CHECK_U64(returned_from(&frames, 800, 4), 800);
	CHECK_U64(returned_from(&frames, 816, 5), 816);
	CHECK_U64(returned_from(&frames, 816, 2), 816);
	CHECK_U64(returned_from(&frames, 800 + FRAMES_POPPED_MAX + 8, 4),
		  800 + FRAMES_POPPED_MAX + 8);
	/* One that was left by longjmp lies below; the frame with the very sp is the one. */
	CHECK_U64(returned_from(&frames, 900, 2), 900);
	enter(&frames, 780, 2);
	CHECK_U64(returned_from(&frames, 900, 2), 900);
	CHECK_U64(returned_from(&frames, 788, 2), 780);
	/* The inner one was left: it is the outer one that pops. */
	enter(&frames, 760, 2);
	CHECK_U64(returned_from(&frames, 796, 2), 780);
	frames.depth = 0;
	CHECK_U64(returned_from(&frames, 796, 2), 796);
}

TEST(depth_is_bounded)
{
	struct frames frames = {0};

	for (u32 i = 0; i < FRAMES_MAX; i++)
		CHECK(frames_push(&frames, 10000 - i * 16, i, i, 0));
	CHECK(!frames_push(&frames, 16, 1, 99, 0));
	CHECK_U64(frames.depth, FRAMES_MAX);
	CHECK_U64(frames_top(&frames)->probe, FRAMES_MAX - 1);
	CHECK_U64(drop_dead(&frames, 20000, false), FRAMES_MAX);
}

TEST(a_broken_depth_stays_inside_the_array)
{
	struct frames frames = {.depth = 0xffffffff};

	CHECK(!frames_top(&frames));
	CHECK(!frames_push(&frames, 1, 1, 1, 0));
	CHECK(!frames_is_open_at(&frames, 1, 1));
}

static struct frame *away_enter(struct away_frames *frames, u64 sp, u64 ts, u32 probe)
{
	u32 best = AWAY_NONE;
	struct frame *frame;

	for (u32 i = 0; i < AWAY_FRAMES_MAX; i++)
		away_search_place(frames, i, sp, &best);
	frame = away_at(frames, best);
	frame->sp = sp;
	frame->ts = ts;
	frame->probe = probe;
	return frame;
}

static struct frame *away_find(struct away_frames *frames, u64 sp, u32 probe)
{
	u32 best = AWAY_NONE;

	for (u32 i = 0; i < AWAY_FRAMES_MAX && best == AWAY_NONE; i++)
		away_search(frames, i, sp, probe, &best);
	return best == AWAY_NONE ? NULL : away_at(frames, best);
}

TEST(fibers_end_in_any_order)
{
	struct away_frames frames = {0};

	away_enter(&frames, 5000, 1, 1);
	away_enter(&frames, 9000, 2, 1);
	away_enter(&frames, 4900, 3, 2);
	CHECK(!away_find(&frames, 9000, 2));
	CHECK_U64(away_find(&frames, 9000, 1)->ts, 2);
	CHECK_U64(away_find(&frames, 5000, 1)->ts, 1);
	CHECK_U64(away_find(&frames, 4900, 2)->ts, 3);
}

TEST(a_slot_that_is_used_again_replaces_its_frame)
{
	struct away_frames frames = {0};

	away_enter(&frames, 5000, 1, 1);
	away_enter(&frames, 6000, 2, 1);
	away_enter(&frames, 5000, 3, 2);
	CHECK(!away_find(&frames, 5000, 1));
	CHECK_U64(away_find(&frames, 5000, 2)->ts, 3);
	CHECK_U64(away_find(&frames, 6000, 1)->ts, 2);
}

TEST(when_all_are_taken_the_oldest_goes)
{
	struct away_frames frames = {0};

	for (u32 i = 0; i < AWAY_FRAMES_MAX; i++)
		away_enter(&frames, 1000 + i * 16, 100 - i, 1);
	away_enter(&frames, 9000, 200, 1);
	/* The last one entered above has the smallest ts. */
	CHECK(!away_find(&frames, 1000 + (AWAY_FRAMES_MAX - 1) * 16, 1));
	CHECK(away_find(&frames, 1000, 1) != NULL);
	CHECK(away_find(&frames, 9000, 1) != NULL);
}

UNIT_MAIN()
