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
	struct stack_memory_range frames_at; /* where there was memory */
	struct python_trace trace;
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

/* What tells of a frame. False: it can't be read. */
__attribute__((no_sanitize_address)) static bool read_frame(struct chain *chain, u64 at,
							    struct python_step *step)
{
	const struct python_layout *layout = chain->layout;
	const u8 *bytes = (const u8 *)at;

	if (at % 8 || !stack_memory_covers(chain->reader->memory, chain->reader->moment,
					   &chain->frames_at, at, chain->frame_bytes))
		return false;
	step->at = at;
	step->previous = word_at(bytes, layout->frame_previous);
	step->code = word_at(bytes, layout->frame_code);
	step->instruction = word_at(bytes, layout->frame_instruction);
	step->owner = bytes[layout->frame_owner];
	step->is_entry = bytes[layout->frame_entry];
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

/* A call of the loop ends with the frame before this one. Where calls have C frames: to that of the next one, which refers to the frame that
 * follows, unless this one was being made. False: it does not. */
static bool next_cframe(struct chain *chain, u64 previous)
{
	const struct python_layout *layout = chain->layout;
	u64 cframe, frame;

	if (PYTHON_FRAMES_ARE_OBJECTS(layout)) {
		if (chain->cframe != PLACE_UNKNOWN &&
		    !read_word(chain, chain->cframe + layout->cframe_previous, &chain->cframe))
			chain->cframe = PLACE_UNKNOWN;
		return true;
	}
	if (layout->boundary != PYTHON_BOUNDARY_ENTRY || !previous)
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
static u64 word_of(struct chain *chain, const struct python_step *step)
{
	const struct python_layout *layout = chain->layout;
	u64 code = PYTHON_CODE_OF_FRAME(step->code);
	s64 unit;

	if (code != chain->code)
		chain->seen = code_objects_get(chain->reader, code);
	chain->code = code;
	if (!chain->seen.id)
		return PYTHON_UNREADABLE;
	unit = unit_of(layout, step->instruction, code);
	if (layout->code_first_traced && step->owner != PYTHON_OWNED_BY_GENERATOR &&
	    unit < chain->seen.first_traced)
		return 0;
	/* One that has executed nothing stands before its first instruction. */
	unit++;
	if (unit < 0 || unit > (s64)PYTHON_INSTRUCTION_MAX)
		unit = 0;
	return PYTHON_FRAME_OF(chain->seen.id, unit);
}

static void put_step(struct chain *chain, const struct python_step *step)
{
	if (step->word)
		put(chain, step->word);
	if (step->ends_call)
		end_call(chain, step->place);
}

/* What comes of a frame that was read. A frame is all of its call where frames are objects, or the outermost of it by its own word. */
static void finish_step(struct chain *chain, struct python_step *step)
{
	const struct python_layout *layout = chain->layout;

	if (layout->boundary == PYTHON_BOUNDARY_SHIM && step->owner >= PYTHON_OWNED_BY_C) {
		step->slot = PYTHON_STEP_NO_CODE;
		step->word = 0;
		step->ends_call = true;
		step->place = step->at;
		return;
	}
	step->word = word_of(chain, step);
	step->slot = chain->seen.id ? chain->seen.slot : PYTHON_STEP_UNKNOWN;
	step->ends_call = PYTHON_FRAMES_ARE_OBJECTS(layout) ||
			  (layout->boundary == PYTHON_BOUNDARY_ENTRY && step->is_entry);
	step->place = chain->cframe;
}

/* False: what follows can't be read. */
static bool take_frame(struct chain *chain)
{
	struct python_step *step = python_trace_step(&chain->trace);

	if (!read_frame(chain, chain->frame, step))
		return false;
	chain->frame = step->previous;
	finish_step(chain, step);
	put_step(chain, step);
	return !step->ends_call || next_cframe(chain, step->previous);
}

/* ---- those of the last walk ---- */

/* As far as frames from this one on say the same as in the last walk. All of one is compared at once: that it differs is rare. */
__attribute__((no_sanitize_address)) static u32 same_frames_until(struct chain *chain, u32 from)
{
	const struct python_layout layout = *chain->layout;
	const struct python_step *steps = chain->trace.past->steps;
	struct stack_memory *memory = chain->reader->memory;
	const u32 moment = chain->reader->moment, frame_bytes = chain->frame_bytes;
	struct stack_memory_range frames_at = {0}, shims_at = {0};
	u32 to;

	for (to = from; to < PYTHON_PAST_STEPS; to++) {
		const struct python_step *step = &steps[to];
		bool has_code = step->slot != PYTHON_STEP_NO_CODE;
		const u8 *bytes = (const u8 *)step->at;
		u64 different;

		if (!stack_memory_covers(memory, moment, has_code ? &frames_at : &shims_at,
					 step->at, frame_bytes))
			break;
		different = word_at(bytes, layout.frame_previous) ^ step->previous;
		different |= bytes[layout.frame_owner] ^ step->owner;
		/* What else stands in one without code is no matter. */
		if (has_code) {
			different |= word_at(bytes, layout.frame_code) ^ step->code;
			different |= word_at(bytes, layout.frame_instruction) ^ step->instruction;
			different |= bytes[layout.frame_entry] ^ step->is_entry;
		}
		if (different)
			break;
	}
	return to;
}

/* Of those, as far as calls of the loop end where they did. */
static u32 same_calls_until(struct chain *chain, u32 from, u32 to)
{
	const struct python_step *steps = chain->trace.past->steps;

	if (chain->layout->boundary == PYTHON_BOUNDARY_SHIM)
		return to;
	for (u32 i = from; i < to; i++)
		if (steps[i].ends_call &&
		    (steps[i].place != chain->cframe || !next_cframe(chain, steps[i].previous)))
			return i;
	return to;
}

/* From this step, at which the chain is, how far is all the same? */
static u32 same_until(struct chain *chain, u32 from)
{
	const struct python_step *steps = chain->trace.past->steps;
	u32 to = same_frames_until(chain, from);

	to = code_objects_same_until(chain->reader, steps, from, to);
	to = same_calls_until(chain, from, to);
	chain->frame = to < PYTHON_PAST_STEPS ? steps[to].at : 0;
	return to;
}

static void put_steps(struct chain *chain, u32 from, u32 to)
{
	for (u32 i = from; i < to; i++)
		put_step(chain, &chain->trace.past->steps[i]);
}

/* Goes along the last walk. False: the chain was at no frame of it, or at one that is another one now. */
static bool retrace(struct chain *chain)
{
	struct python_trace *trace = &chain->trace;
	u32 from = python_trace_find(trace, chain->frame), to;

	/* All of them are to be put. */
	if (chain->frames->count + PYTHON_PAST_STEPS - from >= PYTHON_FRAMES_MAX - 1 ||
	    from == PYTHON_PAST_STEPS)
		return false;
	to = same_until(chain, from);
	python_trace_went(trace, from, to);
	put_steps(chain, from, to);
	return to > from;
}

/* Is the whole chain what it was? Then its frames are those that were put; else those are put up to where it is another one. */
static bool is_same_chain(struct chain *chain)
{
	struct python_trace *trace = &chain->trace;
	u32 from = trace->first, to = from;

	if (from < PYTHON_PAST_STEPS && trace->past->steps[from].at == chain->frame) {
		to = same_until(chain, from);
		python_trace_went(trace, from, to);
		if (to == PYTHON_PAST_STEPS)
			return true;
	}
	chain->frames->count = 0;
	put_steps(chain, from, to);
	return false;
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

/* From the frame that the thread runs on. False: some could not be read, or are left out. */
static bool read_chain(struct chain *chain)
{
	struct python_frames *frames = chain->frames;

	for (u32 i = 0; i < STEPS_MAX && chain->frame && frames->count < PYTHON_FRAMES_MAX - 1; i++)
		if (!retrace(chain) && !take_frame(chain)) {
			put(chain, PYTHON_UNREADABLE);
			return false;
		}
	place_last(chain);
	return !chain->frame && frames->count < PYTHON_FRAMES_MAX - 1;
}

bool python_frames_read(struct python_frames *frames, const struct python_reader *reader,
			struct python_past *past)
{
	struct chain chain = {.frames = frames, .reader = reader};
	bool had_none = !frames->count;

	frames->next = 0;
	python_trace_begin(&chain.trace, past);
	if (reader->process) {
		chain.layout = &reader->process->layout;
		chain.frame_bytes = bytes_of_frame(chain.layout);
	}
	if (!reader->process || !begin(&chain)) {
		frames->count = 0;
		return past && had_none;
	}
	frames->loop = reader->process->loop;
	frames->loop_cold = reader->process->loop_cold;
	return python_trace_end(&chain.trace, is_same_chain(&chain) || read_chain(&chain));
}
