/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of Python as the agent reads them: which are taken, and where on the C stack they belong, of threads that are made up. */
#include <stddef.h>
#include <stdlib.h>

#include "../gpu/base/arch_x86_64.h"
#include "../gpu/stacks/python_frames.h"
#include "unit.h"

#define TAKEN_MAX (PYTHON_FRAMES_MAX - 1)
#define UNKNOWN	  (~0ULL)

/* As much of them as is read. Code at address 0 can't be, which is no matter here. */
struct frame {
	u64 code, previous;
	u8 owner, is_entry;
};

struct cframe {
	u64 frame, previous;
};

struct thread {
	u64 frame, id;
};

/* Innermost first. */
struct fixture {
	struct thread thread;
	u64 thread_at; /* where specific data of the thread has it */
	struct stack_memory memory;
	struct python_process process;
	struct python_frames frames;
	struct code_past past; /* by which no code object can be read */
	struct cframe cframes[2];
	struct frame chain[2 * PYTHON_FOLLOWED_MAX];
};

static struct fixture *fixture_make(enum python_boundary boundary, u32 count)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->process.layout = (struct python_layout){
		.boundary = boundary,
		.thread_frame = offsetof(struct thread, frame),
		.thread_id = offsetof(struct thread, id),
		.frame_previous = offsetof(struct frame, previous),
		.frame_owner = offsetof(struct frame, owner),
		.frame_entry = offsetof(struct frame, is_entry),
	};
	fixture->process.thread_slot = (u64)&fixture->thread_at - arch_thread_self();
	fixture->thread_at = (u64)&fixture->thread;
	fixture->thread = (struct thread){(u64)&fixture->chain[0], arch_thread_self()};
	for (u32 i = 0; i + 1 < count; i++)
		fixture->chain[i].previous = (u64)&fixture->chain[i + 1];
	return fixture;
}

static const struct python_frames *take(struct fixture *fixture)
{
	const struct python_reader reader = {.memory = &fixture->memory,
					     .moment = 1,
					     .process = &fixture->process,
					     .past = &fixture->past};

	python_frames_read(&fixture->frames, &reader, NULL);
	return &fixture->frames;
}

static u64 place_of(const struct fixture *fixture, u32 number)
{
	return (u64)&fixture->chain[number];
}

TEST(all_of_a_call_belong_where_its_frame_without_code_is)
{
	struct fixture *fixture = fixture_make(PYTHON_BOUNDARY_SHIM, 6);
	const struct python_frames *frames;

	fixture->chain[2].owner = fixture->chain[5].owner = PYTHON_OWNED_BY_C;
	frames = take(fixture);
	CHECK_U64(frames->count, 4);
	CHECK_U64(frames->places[0], place_of(fixture, 2));
	CHECK_U64(frames->places[1], 0);
	CHECK_U64(frames->places[2], place_of(fixture, 5));
	CHECK(!python_frames_are_due(frames, 0, place_of(fixture, 2)));
	CHECK(python_frames_are_due(frames, 0, place_of(fixture, 2) + 8));
	free(fixture);
}

TEST(more_than_are_taken_belong_there_too)
{
	struct fixture *fixture = fixture_make(PYTHON_BOUNDARY_SHIM, 501);
	const struct python_frames *frames;

	fixture->chain[500].owner = PYTHON_OWNED_BY_C;
	frames = take(fixture);
	CHECK_U64(frames->count, TAKEN_MAX);
	CHECK_U64(frames->places[0], place_of(fixture, 500));
	CHECK_U64(frames->places[TAKEN_MAX - 1], 0);
	free(fixture);
}

TEST(so_do_those_of_a_call_behind_others)
{
	struct fixture *fixture = fixture_make(PYTHON_BOUNDARY_SHIM, 501);
	const struct python_frames *frames;

	fixture->chain[30].owner = fixture->chain[400].owner = PYTHON_OWNED_BY_C;
	fixture->chain[500].owner = PYTHON_OWNED_BY_C;
	frames = take(fixture);
	CHECK_U64(frames->count, TAKEN_MAX);
	CHECK_U64(frames->places[0], place_of(fixture, 30));
	CHECK_U64(frames->places[30], place_of(fixture, 400));
	free(fixture);
}

TEST(a_chain_is_not_followed_for_ever)
{
	u32 last = TAKEN_MAX + PYTHON_FOLLOWED_MAX - 1;
	struct fixture *fixture = fixture_make(PYTHON_BOUNDARY_SHIM, last + 2);
	const struct python_frames *frames = take(fixture);

	fixture->chain[last].owner = PYTHON_OWNED_BY_C;
	CHECK_U64(take(fixture)->places[0], place_of(fixture, last));
	fixture->chain[last].owner = 0;
	fixture->chain[last + 1].owner = PYTHON_OWNED_BY_C;
	CHECK_U64(take(fixture)->places[0], UNKNOWN);
	fixture->chain[last].previous = (u64)&fixture->chain[TAKEN_MAX + 1];
	CHECK_U64(take(fixture)->places[0], UNKNOWN);
	/* To where nothing is. */
	fixture->chain[200].previous = 4096;
	CHECK_U64(take(fixture)->places[0], UNKNOWN);
	CHECK_U64(frames->count, TAKEN_MAX);
	free(fixture);
}

TEST(where_c_frames_tell_it_they_do_so_for_more_than_are_taken)
{
	struct fixture *fixture = fixture_make(PYTHON_BOUNDARY_ENTRY, 500);
	const struct python_frames *frames;

	fixture->process.layout.cframe_frame = offsetof(struct cframe, frame);
	fixture->process.layout.cframe_previous = offsetof(struct cframe, previous);
	fixture->thread.frame = (u64)&fixture->cframes[0];
	fixture->cframes[0] = (struct cframe){place_of(fixture, 0), (u64)&fixture->cframes[1]};
	fixture->cframes[1] = (struct cframe){place_of(fixture, 30), 0};
	fixture->chain[29].is_entry = fixture->chain[499].is_entry = 1;
	frames = take(fixture);
	CHECK_U64(frames->count, TAKEN_MAX);
	CHECK_U64(frames->places[0], (u64)&fixture->cframes[0]);
	CHECK_U64(frames->places[30], (u64)&fixture->cframes[1]);
	free(fixture);
}

UNIT_MAIN()
