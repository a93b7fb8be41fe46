/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of Python read along the last walk, against the same ones read without it: of threads that are made up, which call and return, and whose
 * code objects end and come to lie where others were. */
#include <stddef.h>
#include <stdlib.h>

#include "../gpu/base/arch_x86_64.h"
#include "../gpu/stacks/python_frames.h"
#include "unit.h"

#define ROUNDS	     20000
#define FRAMES_MAX   60
#define CODES	     24
#define CHUNKS	     8
#define CODE_TYPE    0x5ca1ab1e
#define TEXT_BYTES   40
#define LINES_BYTES  150
#define FIRST_TRACED 3

struct frame {
	u64 code, previous, instruction;
	u8 owner, is_entry;
	u8 locals[14];
};

struct cframe {
	u64 frame, previous;
};

struct text {
	u64 head[4], state;
	char bytes[TEXT_BYTES];
};

struct lines {
	u64 head[4];
	u8 bytes[LINES_BYTES + 2];
};

/* By the offsets of CPython, as far as they are the same in all versions. */
struct code {
	u64 words[26];
	struct text name;
	struct lines lines;
};

struct fixture {
	struct stack_memory memory;
	struct python_process process;
	struct code_objects codes_known;
	struct code_past past, no_past;
	struct python_past python;
	struct python_frames along, alone;
	struct {
		u64 frame, id, cframe; /* as the layout says */
	} thread;
	u64 thread_at;
	struct text file;
	struct code codes[CODES];
	/* The outermost first; frames without code, and C frames, lie elsewhere. */
	struct frame frames[FRAMES_MAX];
	struct frame shims[FRAMES_MAX];
	struct cframe cframes[FRAMES_MAX];
	u64 chain[FRAMES_MAX]; /* where they are */
	u32 count;
	u32 last_number;
	u64 random;
	struct agent_control *control;
	struct ring ring;
	struct ring_writer writer;
};

static u32 chance(struct fixture *fixture, u32 below)
{
	fixture->random ^= fixture->random << 13;
	fixture->random ^= fixture->random >> 7;
	fixture->random ^= fixture->random << 17;
	return (fixture->random >> 16) % below;
}

static void put_text(struct text *text, const char *bytes, u32 count)
{
	*text = (struct text){.head = {1, 2, count, 3}, .state = 0x64};
	memcpy(text->bytes, bytes, count);
}

/* Another one where one was, with the same words but for its number. */
static void put_code(struct fixture *fixture, u32 number)
{
	const struct python_layout *layout = &fixture->process.layout;
	struct code *code = &fixture->codes[number];
	char name[8] = "name__";

	memset(code, 0, sizeof(*code));
	code->words[1] = CODE_TYPE;
	for (u32 i = 2; i < 13; i++)
		code->words[i] = 0x1000 * number + i;
	if (fixture->process.layout.code_numbered)
		code->words[11] = (u64)++fixture->last_number << 32 | 7;
	code->words[layout->code_file / 8] = (u64)&fixture->file;
	code->words[layout->code_name / 8] = (u64)&code->name;
	code->words[layout->code_lines / 8] = (u64)&code->lines;
	name[5] = (char)('a' + chance(fixture, 3));
	put_text(&code->name, name, 6);
	code->lines.head[2] = LINES_BYTES;
	code->lines.bytes[chance(fixture, 2) ? LINES_BYTES - 1 : 70] = (u8)chance(fixture, 3);
}

static struct fixture *fixture_make(enum python_boundary boundary, bool numbered)
{
	struct fixture *fixture = aligned_alloc(64, (sizeof(*fixture) + 63) / 64 * 64);
	size_t bytes = AGENT_CONTROL_BYTES + CHUNKS * AGENT_CHUNK_BYTES;

	memset(fixture, 0, sizeof(*fixture));
	fixture->random = 88172645463325252ULL;
	fixture->process = (struct python_process){
		.code_type = CODE_TYPE,
		.layout = {.boundary = boundary,
			   .thread_frame = offsetof(struct fixture, thread.frame) -
					   offsetof(struct fixture, thread),
			   .thread_id = 8,
			   .cframe_frame = offsetof(struct cframe, frame),
			   .cframe_previous = offsetof(struct cframe, previous),
			   .frame_code = offsetof(struct frame, code),
			   .frame_previous = offsetof(struct frame, previous),
			   .frame_instruction = offsetof(struct frame, instruction),
			   .frame_owner = offsetof(struct frame, owner),
			   .frame_entry = offsetof(struct frame, is_entry),
			   .code_first_line = 68,
			   .code_first_traced = 80,
			   .code_file = 112,
			   .code_name = 128,
			   .code_lines = 136,
			   .code_numbered = numbered,
			   .code_bytes = 192,
			   .text_data = offsetof(struct text, bytes),
			   .wide_text_data = offsetof(struct text, bytes) + 16},
	};
	if (boundary == PYTHON_BOUNDARY_SHIM)
		fixture->process.layout.cframe_frame = fixture->process.layout.cframe_previous = 0;
	if (boundary == PYTHON_BOUNDARY_CFRAME) {
		fixture->process.layout.thread_cframe = 16;
		fixture->process.layout.code_bytes = 0;
		fixture->process.layout.instruction_shift = 0;
		fixture->process.layout.code_file = 104;
		fixture->process.layout.code_name = 112;
		fixture->process.layout.code_lines = 120;
	}
	put_text(&fixture->file, "/a/file.py", 10);
	for (u32 i = 0; i < CODES; i++)
		put_code(fixture, i);
	fixture->process.thread_slot = (u64)&fixture->thread_at - arch_thread_self();
	fixture->thread_at = (u64)&fixture->thread;
	fixture->thread.id = arch_thread_self();
	fixture->control = calloc(1, bytes);
	fixture->control->chunk_count = CHUNKS;
	ring_open(&fixture->ring, fixture->control, bytes);
	ring_writer_open(&fixture->writer, &fixture->ring, 7);
	return fixture;
}

static void fixture_free(struct fixture *fixture)
{
	free(fixture->control);
	free(fixture);
}

/* ---- what a thread does ---- */

static struct frame *frame_of(struct fixture *fixture, u32 number)
{
	return (struct frame *)fixture->chain[number];
}

static void push(struct fixture *fixture)
{
	u32 number = fixture->count, code = chance(fixture, CODES);
	bool is_generator = !chance(fixture, 8);
	struct frame *frame;

	if (number == FRAMES_MAX)
		return;
	/* Those of generators lie elsewhere. */
	fixture->chain[number] =
		(u64)(is_generator ? &fixture->shims[number] : &fixture->frames[number]);
	frame = frame_of(fixture, number);
	*frame = (struct frame){
		.code = (u64)&fixture->codes[code],
		.instruction = (u64)&fixture->codes[code] + 192 + 2 * chance(fixture, 6),
		.owner = is_generator,
		.is_entry = !number || !chance(fixture, 4),
	};
	fixture->count++;
}

static void pop(struct fixture *fixture, u32 count)
{
	while (count-- && fixture->count > 1)
		fixture->count--;
}

/* Refers to what is below it, by way of one without code, or a C frame, where it began a call of the loop. */
static void link_frames(struct fixture *fixture)
{
	static struct frame entries[FRAMES_MAX];
	enum python_boundary boundary = fixture->process.layout.boundary;
	u64 below = 0;

	for (u32 i = 0; i < fixture->count; i++) {
		struct frame *frame = frame_of(fixture, i);
		bool begins = frame->is_entry || boundary == PYTHON_BOUNDARY_CFRAME;

		frame->previous = below;
		if (boundary == PYTHON_BOUNDARY_SHIM && begins) {
			entries[i] = (struct frame){.previous = below, .owner = PYTHON_OWNED_BY_C};
			entries[i].instruction = fixture->random;
			frame->previous = (u64)&entries[i];
		}
		below = fixture->chain[i];
		fixture->cframes[i] =
			(struct cframe){below, begins ? i ? fixture->thread.cframe : 0
						      : fixture->cframes[i ? i - 1 : 0].previous};
		fixture->thread.cframe = (u64)&fixture->cframes[i];
	}
	fixture->thread.frame = boundary == PYTHON_BOUNDARY_ENTRY ? fixture->thread.cframe : below;
}

/* What is another one, or lies where another one was. */
static void change(struct fixture *fixture)
{
	bool numbered = fixture->process.layout.code_numbered;
	struct code *code = &fixture->codes[chance(fixture, CODES)];
	struct frame *frame = frame_of(fixture, chance(fixture, fixture->count));

	switch (chance(fixture, 14)) {
	case 0:
	case 1:
		pop(fixture, chance(fixture, 5));
		break;
	case 2:
	case 3:
	case 4:
		for (u32 i = chance(fixture, 4); i; i--)
			push(fixture);
		break;
	case 5:
		frame->instruction += 2;
		break;
	case 6:
		frame->code = (u64)code;
		break;
	case 7:
		put_code(fixture, chance(fixture, CODES));
		break;
	case 8:
		if (!numbered)
			code->name.bytes[5] ^= 3;
		break;
	case 9:
		if (!numbered)
			code->lines.bytes[chance(fixture, 3) * (LINES_BYTES - 1) / 2] ^= 1;
		break;
	case 10:
		frame->owner = !frame->owner;
		break;
	case 11:
		code->words[1] = CODE_TYPE ^ !chance(fixture, 30);
		break;
	case 12:
		frame->is_entry = frame == frame_of(fixture, 0) || !frame->is_entry;
		break;
	case 13:
		if (!numbered)
			fixture->file.bytes[1] ^= 1;
		break;
	}
}

/* ---- both ---- */

static bool take(struct fixture *fixture, struct python_frames *frames, struct code_past *codes,
		 struct python_past *past, u32 moment)
{
	const struct python_reader reader = {
		.memory = &fixture->memory,
		.moment = moment,
		.process = &fixture->process,
		.codes = &fixture->codes_known,
		.past = codes,
		.writer = &fixture->writer,
		.first_number = 100,
	};

	if (!code_past_begin(codes, 1, &fixture->process))
		CHECK(!past || !past->count);
	return python_frames_read(frames, &reader, past);
}

/* gpuprobe took what there was. */
static void empty_ring(struct fixture *fixture)
{
	for (u32 i = 0; i < CHUNKS; i++) {
		struct agent_chunk *chunk = (void *)((u8 *)fixture->control + AGENT_CONTROL_BYTES +
						     (size_t)i * AGENT_CHUNK_BYTES);

		if (chunk->state == AGENT_CHUNK_FULL)
			chunk->state = AGENT_CHUNK_FREE;
	}
}

static bool are_equal(const struct python_frames *left, const struct python_frames *right)
{
	return left->count == right->count &&
	       !memcmp(left->words, right->words, left->count * sizeof(left->words[0])) &&
	       !memcmp(left->places, right->places, left->count * sizeof(left->places[0]));
}

static void compare(enum python_boundary boundary, bool numbered)
{
	struct fixture *fixture = fixture_make(boundary, numbered);
	u32 same = 0, deepest = 0, named = 0;

	push(fixture);
	for (u32 round = 0; round < ROUNDS && !unit_failures; round++) {
		bool is_same, changes = chance(fixture, 3);
		u32 moment = 1 + round / 50;

		for (u32 i = changes ? 1 + chance(fixture, 2) : 0; i; i--)
			change(fixture);
		link_frames(fixture);
		is_same = take(fixture, &fixture->along, &fixture->past, &fixture->python, moment);
		memset(&fixture->no_past, 0, sizeof(fixture->no_past));
		CHECK(!take(fixture, &fixture->alone, &fixture->no_past, NULL, moment));
		if (!are_equal(&fixture->along, &fixture->alone))
			UNIT_FAIL("round %u: %u frames, and %u without the past, same %d", round,
				  fixture->along.count, fixture->alone.count, is_same);
		same += is_same;
		deepest = deepest > fixture->alone.count ? deepest : fixture->alone.count;
		for (u32 i = 0; i < fixture->alone.count; i++)
			named += fixture->alone.words[i] != PYTHON_UNREADABLE;
		empty_ring(fixture);
	}
	/* Of those nothing else was changed. */
	CHECK(same > ROUNDS / 5 && same < ROUNDS - ROUNDS / 5);
	CHECK(deepest > FRAMES_MAX / 2);
	CHECK(named > ROUNDS);
	fixture_free(fixture);
}

TEST(along_the_past_they_are_the_same_where_frames_without_code_end_calls)
{
	compare(PYTHON_BOUNDARY_SHIM, true);
}

TEST(so_they_are_where_code_has_no_number)
{
	compare(PYTHON_BOUNDARY_SHIM, false);
}

TEST(so_they_are_where_c_frames_tell_of_calls)
{
	compare(PYTHON_BOUNDARY_ENTRY, false);
}

TEST(so_they_are_where_frames_are_objects)
{
	compare(PYTHON_BOUNDARY_CFRAME, false);
}

UNIT_MAIN()
