/* SPDX-License-Identifier: MIT */
#include "python_frames.h"

#include "../base/arch_x86_64.h"

/* Frames, and one without code for each. */
#define STEPS_MAX (2 * PYTHON_FRAMES_MAX)
/* Where the frames of a call of the loop begin that is not known to be anywhere. */
#define PLACE_UNKNOWN (~0ULL)

/* On the way along the chain. */
struct chain {
	struct python_frames *frames;
	const struct python_reader *reader;
	const struct python_layout *layout;
	u32 first;	 /* of the call of the loop that is walked */
	u64 frame;	 /* to be read next; 0: there is none */
	u64 cframe;	 /* of the call of the loop that is walked */
	u32 frame_bytes; /* so much is read of one */
	u64 code;	 /* the one that was looked at last; 0: none */
	struct code_object_seen seen;
};

static bool read_word(const struct chain *chain, u64 address, u64 *ret_word)
{
	return stack_memory_read(chain->reader->memory, chain->reader->moment, address, ret_word);
}

static bool read_byte(const struct chain *chain, u64 address, u8 *ret_byte)
{
	const u8 *byte = stack_memory_at(chain->reader->memory, chain->reader->moment, address, 1);

	if (byte)
		*ret_byte = *byte;
	return byte;
}

/* What tells of a frame. */
struct frame {
	u64 previous, code, instruction;
	u8 owner, is_entry;
};

static u64 word_at(const u8 *bytes, u32 offset)
{
	return ((const struct stack_memory_word *)(bytes + offset))->value;
}

/* As far as it is read, of any layout. */
static u32 bytes_of_frame(const struct python_layout *layout)
{
	const u16 offsets[] = {layout->frame_previous, layout->frame_code, layout->frame_owner,
			       layout->frame_instruction, layout->frame_entry};
	u32 bytes = 0;

	for (u32 i = 0; i < ARRAY_SIZE(offsets); i++)
		if (bytes < offsets[i] + sizeof(u64))
			bytes = offsets[i] + sizeof(u64);
	return bytes;
}

/* False: it can't be read. */
__attribute__((no_sanitize_address)) static bool read_frame(const struct chain *chain, u64 at,
							    struct frame *ret_frame)
{
	const struct python_layout *layout = chain->layout;
	const u8 *bytes = stack_memory_at(chain->reader->memory, chain->reader->moment, at,
					  chain->frame_bytes);

	if (at % 8)
		return false;
	/* Two pages. */
	if (!bytes)
		return read_word(chain, at + layout->frame_previous, &ret_frame->previous) &&
		       read_word(chain, at + layout->frame_code, &ret_frame->code) &&
		       read_word(chain, at + layout->frame_instruction, &ret_frame->instruction) &&
		       read_byte(chain, at + layout->frame_owner, &ret_frame->owner) &&
		       read_byte(chain, at + layout->frame_entry, &ret_frame->is_entry);
	ret_frame->previous = word_at(bytes, layout->frame_previous);
	ret_frame->code = word_at(bytes, layout->frame_code);
	ret_frame->instruction = word_at(bytes, layout->frame_instruction);
	ret_frame->owner = bytes[layout->frame_owner];
	ret_frame->is_entry = bytes[layout->frame_entry];
	return true;
}

/* ---- the thread ---- */

/* The state of the thread. 0: it has none. */
static u64 find_thread(const struct chain *chain, u64 self)
{
	const struct python_process *process = chain->reader->process;
	u64 block = self, thread, current, id;

	for (u32 i = 0; i < PYTHON_SLOT_POINTERS && i < process->slot_pointers; i++)
		if (!read_word(chain, block + process->slot_pointer[i], &block))
			return 0;
	if (!read_word(chain, block + process->thread_slot, &thread))
		return 0;
	/* In a subinterpreter it has another one. */
	if (process->current && read_word(chain, process->current, &current) && current &&
	    current != thread && read_word(chain, current + chain->layout->thread_id, &id) &&
	    id == self)
		return current;
	return thread;
}

/* The frame that it runs, and what tells where that is; false: none, or it is no state of this thread. */
static bool begin(struct chain *chain)
{
	const struct python_layout *layout = chain->layout;
	u64 self = arch_thread_self(), thread = find_thread(chain, self), id;

	/* What lies there when an interpreter has ended is another's. */
	if (!thread || !read_word(chain, thread + layout->thread_id, &id) || id != self ||
	    !read_word(chain, thread + layout->thread_frame, &chain->frame))
		return false;
	chain->cframe = chain->frame;
	if (PYTHON_FRAMES_ARE_OBJECTS(layout)) {
		chain->cframe = PLACE_UNKNOWN;
		if (layout->thread_cframe &&
		    !read_word(chain, thread + layout->thread_cframe, &chain->cframe))
			return false;
	} else if (layout->cframe_previous &&
		   !read_word(chain, chain->cframe + layout->cframe_frame, &chain->frame)) {
		return false;
	}
	return chain->frame;
}

/* ---- its frames ---- */

static void put(struct chain *chain, u64 word)
{
	struct python_frames *frames = chain->frames;

	frames->places[frames->count] = frames->count == chain->first ? PLACE_UNKNOWN : 0;
	frames->words[frames->count++] = word;
}

/* Where the frames from first on belong is known. */
static void end_call(struct chain *chain, u64 place)
{
	if (chain->first == chain->frames->count)
		return;
	chain->frames->places[chain->first] = place;
	chain->first = chain->frames->count;
}

/* The frame read last is the outermost one of its call of the loop, by its own word. The C frame of the next one refers to the frame that
 * follows, unless this one was being made. */
static bool next_call(struct chain *chain, u64 previous)
{
	const struct python_layout *layout = chain->layout;
	u64 cframe, frame;

	end_call(chain, chain->cframe);
	if (!previous)
		return true;
	if (!read_word(chain, chain->cframe + layout->cframe_previous, &cframe) ||
	    !read_word(chain, cframe + layout->cframe_frame, &frame) || frame != previous)
		return false;
	chain->cframe = cframe;
	return true;
}

/* Which instruction it stands at, in code units. */
static s64 unit_of(const struct python_layout *layout, u64 word, u64 code)
{
	if (!layout->code_bytes)
		return (s32)word >> (layout->instruction_shift & 1);
	return (s64)(word - code - layout->code_bytes) >> 1;
}

/* One that has not begun is left out, as Python does: what enters a function is its caller's, and so is what only cleans up behind it. */
static void put_frame(struct chain *chain, const struct frame *frame)
{
	const struct python_layout *layout = chain->layout;
	u64 code = PYTHON_CODE_OF_FRAME(frame->code);
	s64 unit;

	if (code != chain->code)
		chain->seen = code_objects_get(chain->reader, code);
	chain->code = code;
	if (!chain->seen.id) {
		put(chain, PYTHON_UNREADABLE);
		return;
	}
	unit = unit_of(layout, frame->instruction, code);
	if (layout->code_first_traced && frame->owner != PYTHON_OWNED_BY_GENERATOR &&
	    unit < chain->seen.first_traced)
		return;
	/* One that has executed nothing stands before its first instruction. */
	unit++;
	if (unit < 0 || unit > (s64)PYTHON_INSTRUCTION_MAX)
		unit = 0;
	put(chain, PYTHON_FRAME_OF(chain->seen.id, unit));
}

/* The frame read last is the only one of its call of the loop. */
static void end_object(struct chain *chain)
{
	end_call(chain, chain->cframe);
	if (chain->cframe != PLACE_UNKNOWN &&
	    !read_word(chain, chain->cframe + chain->layout->cframe_previous, &chain->cframe))
		chain->cframe = PLACE_UNKNOWN;
}

/* False: what follows can't be read. */
static bool take_frame(struct chain *chain)
{
	const struct python_layout *layout = chain->layout;
	u64 at = chain->frame;
	struct frame frame;

	if (!read_frame(chain, at, &frame))
		return false;
	chain->frame = frame.previous;
	if (layout->boundary == PYTHON_BOUNDARY_SHIM && frame.owner >= PYTHON_OWNED_BY_C) {
		end_call(chain, at);
		return true;
	}
	put_frame(chain, &frame);
	if (PYTHON_FRAMES_ARE_OBJECTS(layout)) {
		end_object(chain);
		return true;
	}
	return layout->boundary != PYTHON_BOUNDARY_ENTRY || !frame.is_entry ||
	       next_call(chain, frame.previous);
}

/* A frame without code says where the call of the loop is that ran those before it. */
static void follow_call(struct chain *chain)
{
	const struct python_layout *layout = chain->layout;
	u64 at = chain->frame;
	u8 owner;

	for (u32 i = 0; i < PYTHON_FOLLOWED_MAX && at; i++) {
		u64 previous;

		if (at % 8 || !read_word(chain, at + layout->frame_previous, &previous) ||
		    !read_byte(chain, at + layout->frame_owner, &owner))
			return;
		if (owner >= PYTHON_OWNED_BY_C) {
			end_call(chain, at);
			return;
		}
		at = previous;
	}
}

/* As many as are taken there are. Those of the last call, the innermost ones mostly, belong where it is all the same. */
static void place_last(struct chain *chain)
{
	if (chain->frames->count < PYTHON_FRAMES_MAX - 1 || chain->first == chain->frames->count)
		return;
	if (chain->layout->boundary == PYTHON_BOUNDARY_ENTRY)
		end_call(chain, chain->cframe);
	else if (chain->layout->boundary == PYTHON_BOUNDARY_SHIM)
		follow_call(chain);
}

void python_frames_read(struct python_frames *frames, const struct python_reader *reader)
{
	struct chain chain = {.frames = frames, .reader = reader};

	frames->count = frames->next = 0;
	if (!reader->process)
		return;
	frames->loop = reader->process->loop;
	frames->loop_cold = reader->process->loop_cold;
	chain.layout = &reader->process->layout;
	chain.frame_bytes = bytes_of_frame(chain.layout);
	if (!begin(&chain))
		return;
	for (u32 i = 0; i < STEPS_MAX && chain.frame && frames->count < PYTHON_FRAMES_MAX - 1; i++)
		if (!take_frame(&chain)) {
			put(&chain, PYTHON_UNREADABLE);
			return;
		}
	place_last(&chain);
}
