/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The frames of Python of a thread: of the current one, whose own chain of frames and the code objects in it stay as they are meanwhile, with
 * the lock of the interpreter or without it; or of one that sleeps (UNWIND_OTHERS), which may wake up at any moment: then what was read
 * counts only if it has not.
 *
 * A call of the interpreter's loop (_PyEval_EvalFrameDefault) runs one frame of Python or several. Where on the C stack that call is
 * the interpreter tells, by an object that lies there: so the walk of the C stack (stacks.h) knows where these frames belong.
 */
#ifndef GPUPROBE_BPF_PYTHON_H
#define GPUPROBE_BPF_PYTHON_H

#include "emit.h"
#include "arch_x86_64.h"
#include "python_maps.h"
#include "unwind_walk.h"
#ifdef UNWIND_OTHERS
#include "off_cpu.h"
#endif

#define PYTHON_DEPTH_MAX 128 /* frames that are taken, the innermost ones; a power of two */
/* Frames, and one without code for each. */
#define PYTHON_STEPS (2 * PYTHON_DEPTH_MAX)

#define PYTHON_NEAR_BYTES 4096 /* from a frame to its caller's, where they lie behind each other */

#define PYTHON_KNOWN 256 /* a power of two */

/* Where the frames of a call of the loop begin that is not known to be anywhere. */
#define PYTHON_PLACE_UNKNOWN (~0ULL)

/* A text as CPython keeps it: count of references, type, length, hash, state. */
struct python_text_head {
	u64 references, type, length, hash;
	u32 state, pad;
};

struct python_bytes_head {
	u64 references, type, length, hash;
};

/* A walk in progress, and what it found, innermost first. */
struct python_walk {
	u64 words[PYTHON_DEPTH_MAX]; /* PYTHON_FRAME_OF() */
	u64 places[PYTHON_DEPTH_MAX]; /* of the first one of each call of the loop: where that is on the C stack; of others 0 */
	u32 count;
	u32 next;    /* the first that is not in the stack yet */
	u32 copying; /* they are being put there: PYTHON_COPY_* */
	u32 first;   /* of the call of the loop that is walked */
	u32 pid;
	u32 interrupts; /* the program may interrupt any other one */
#ifdef UNWIND_OTHERS
	u32 codes_given;  /* ids; outlasts the walk */
	u64 switches;	  /* how often the thread had left a CPU as the walk began */
#endif
	u64 frame;  /* to be read next; 0: there is none */
	u64 cframe; /* of the call of the loop that is walked */
	struct python_extent loop, loop_cold; /* of the process; empty where that is not what tells of calls */
	u64 page_at;   /* of the page that was read, or PAGE_NONE; */
	u64 page_end;  /* and where what was read of it ends */
	u64 last;      /* where the last frame is; 0: there was none */
	u32 base;      /* where in the page the frame is, in words */
	u32 code_id;   /* of the code object read last, */
	u64 code;      /* and where that is; 0: none */
	u64 hash;      /* of that, */
	u32 is_new;    /* and it was not met before */
	/* What is read on the way; the stacks of programs have no room for it on kernels before 6.13. */
	u64 value, other;
	struct python_text_head text;
	struct python_bytes_head lines;
	u64 page[ARCH_PAGE_BYTES / sizeof(u64)];
	u64 code_words[32];
	struct python_known {
		u64 hash;
		u64 id;
	} known[PYTHON_KNOWN]; /* code objects that were met; outlasts the walk */
};

enum { PYTHON_COPY_NONE, PYTHON_COPY_CALL, PYTHON_COPY_ALL };

struct python_state {
	struct python_walk *walk;
	const struct python_process *process;
	struct task_struct *task;
};

#define PYTHON_CFRAME_BYTES 24

/* Of objects that were read: the word, or the byte, at an offset. */
static __always_inline u64 frame_word(const struct python_walk *walk, u64 offset)
{
	offset = offset / 8 + walk->base;
	OPAQUE(offset);
	return walk->page[offset & (ARCH_PAGE_BYTES / 8 - 1)];
}

static __always_inline u8 frame_byte(const struct python_walk *walk, u64 offset)
{
	return frame_word(walk, offset) >> (offset & 7) * 8;
}

static __always_inline u64 code_word(const struct python_walk *walk, u64 offset)
{
	offset /= 8;
	OPAQUE(offset);
	return walk->code_words[offset & 31];
}

static __always_inline s32 code_int(const struct python_walk *walk, u64 offset)
{
	return code_word(walk, offset) >> (offset & 4) * 8;
}

/* ---- code objects ---- */

/* What no two code objects have in common, be it that one came to lie where the other was: where it is, how large, what it refers to,
 * lines, version. What changes while it lives is left out: in all versions words 0 and 1, in some 6, 7, 16 and 17. A sum of products with
 * odd numbers, so that they can be made side by side. */
static __always_inline u64 code_hash(const struct python_walk *walk,
				     const struct python_layout *layout, u64 address)
{
	u64 hash = address * 0x9e3779b97f4a7c15ULL + walk->pid * 0xbf58476d1ce4e5b9ULL;

#define MIX(index, odd) hash += walk->code_words[index] * odd##ULL
	MIX(2, 0x94d049bb133111eb);
	MIX(3, 0xd6e8feb86659fd93);
	MIX(4, 0xff51afd7ed558ccd);
	MIX(5, 0xc4ceb9fe1a85ec53);
	MIX(8, 0x2545f4914f6cdd1d);
	MIX(9, 0x5851f42d4c957f2d);
	MIX(11, 0xda942042e4dd58b5);
	MIX(12, 0xaef17502108ef2d9);
#undef MIX
	hash += code_word(walk, layout->code_file) * 0x8ebc6af09c88c6e3ULL;
	hash += code_word(walk, layout->code_name) * 0x589965cc75374cc3ULL;
	hash += code_word(walk, layout->code_lines) * 0x1d8e4e27c47d124fULL;
	hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 29;
}

#define TEXT_WIDTH(state)   ((state) >> 2 & 7)
#define TEXT_COMPACT(state) ((state) >> 5 & 1)
#define TEXT_ASCII(state)   ((state) >> 6 & 1)

/* Of the code object that was read, whose word at this offset leads there. What is known of it is read again rather than kept: there is no room
 * for it on the program's stack. 0 or -1. */
static __always_inline int read_text(const struct python_state *state, const u16 *offset,
				     struct python_text *text, u8 *bytes, u64 max_bytes)
{
	struct python_text_head *head = &state->walk->text;
	u64 size;

	if (unwind_copy(state->task, head, sizeof(*head), code_word(state->walk, *offset)))
		return -1;
	size = TEXT_WIDTH(head->state);
	if (!TEXT_COMPACT(head->state) || (size != 1 && size != 2 && size != 4) ||
	    head->length >> 32)
		return -1;
	text->width = TEXT_ASCII(head->state) ? 0 : size;
	text->pad = 0;
	size *= head->length;
	if (size > max_bytes - 4)
		size = max_bytes - 4;
	text->bytes = size;
	OPAQUE(size);
	return unwind_copy(state->task, bytes, size & (max_bytes - 1),
			   code_word(state->walk, *offset) +
				   (TEXT_ASCII(head->state)
					    ? state->process->layout.text_data
					    : state->process->layout.wide_text_data))
		       ? -1
		       : 0;
}

/* All but the bytes of the table of lines. */
static __always_inline int read_code(const struct python_state *state, struct python_code *code)
{
	const struct python_walk *walk = state->walk;
	const struct python_layout *layout = &state->process->layout;

	code->id = walk->code_id;
	code->pid = walk->pid;
	code->first_line = code_int(walk, layout->code_first_line);
	code->lines_form = layout->lines;
	code->pad = 0;
	return read_text(state, &layout->code_name, &code->name, code->name_bytes,
			 PYTHON_NAME_BYTES) ||
			       read_text(state, &layout->code_file, &code->file, code->file_bytes,
					 PYTHON_FILE_BYTES)
		       ? -1
		       : 0;
}

/* Is all that was read of the thread that which it has? */
static __always_inline bool python_stays(const struct python_state *state)
{
#ifdef UNWIND_OTHERS
	return switches_of(state->task) == state->walk->switches;
#else
	return true;
#endif
}

#define SEND_CODE(max_bytes)                                                                      \
	({                                                                                        \
		struct python_code *code = bpf_ringbuf_reserve(                                   \
			&python_codes, offsetof(struct python_code, lines) + (max_bytes), 0);     \
		u64 size_ = walk->lines.length;                                                   \
		int result_ = -1;                                                                 \
                                                                                                  \
		if (code) {                                                                       \
			if (size_ > (max_bytes)-1)                                                \
				size_ = (max_bytes)-1;                                            \
			code->lines_bytes = size_;                                                \
			OPAQUE(size_);                                                            \
			result_ = unwind_copy(state->task, code->lines, size_ & ((max_bytes)-1),  \
					      code_word(walk, layout->code_lines) +               \
						      sizeof(walk->lines)) ||                     \
				  read_code(state, code) || !python_stays(state);                 \
			if (result_)                                                              \
				bpf_ringbuf_discard(code, BPF_RB_NO_WAKEUP);                      \
			else                                                                      \
				bpf_ringbuf_submit(code, BPF_RB_NO_WAKEUP);                       \
		}                                                                                 \
		result_;                                                                          \
	})

/* That which was read last, which is new; it is forgotten where it can't be sent. 0 or -1. */
static __noinline int send_code(const struct python_state *state)
{
	const struct python_layout *layout;
	struct python_walk *walk;
	int result;

	if (!state || !state->walk || !state->process)
		return -1;
	walk = state->walk;
	layout = &state->process->layout;
	result = unwind_copy(state->task, &walk->lines, sizeof(walk->lines),
			     code_word(walk, layout->code_lines))
			 ? -1
			 : 0;
	if (!result)
		result = walk->lines.length < PYTHON_LINES_BYTES
				 ? SEND_CODE(PYTHON_LINES_BYTES)
				 : SEND_CODE(PYTHON_LONG_LINES_BYTES);
	if (result)
		bpf_map_delete_elem(&python_code_ids, &walk->hash);
	return result;
}

#define CODE_ID_BITS	    16 /* a CPU, and who may interrupt the others counts by itself */
#define CODE_ID_OF_SLEEPERS (1U << 31)

/* As stack_id_new(). 0: this CPU has given all it has. Who reads those that sleep may change the CPU meanwhile, and there is only one: it
 * counts by itself, beside all CPUs. */
static __always_inline u32 code_id_new(struct python_walk *walk)
{
#ifdef UNWIND_OTHERS
	if (walk->codes_given >= CODE_ID_OF_SLEEPERS - 1)
		return 0;
	return CODE_ID_OF_SLEEPERS | ++walk->codes_given;
#else
	struct counters *mine = counters_get();
	u64 number, class = walk->interrupts & 1;

	OPAQUE(class);
	if (!mine || mine->python_codes[class & 1] >= (1 << CODE_ID_BITS) - 1)
		return 0;
	number = ++mine->python_codes[class & 1];
	return number | (u32)class << CODE_ID_BITS | bpf_get_smp_processor_id() << (CODE_ID_BITS + 1);
#endif
}

/* Reads it. 0: it is none, or could not be read, or there is no room for it. */
static __noinline u32 code_id(const struct python_state *state, u64 address)
{
	struct python_walk *walk;
	u64 place;
	u32 *known;

	if (!state || !state->walk || !state->process)
		return 0;
	walk = state->walk;
	if (unwind_copy(state->task, walk->code_words,
			PYTHON_FRAMES_ARE_OBJECTS(&state->process->layout)
				? PYTHON_CODE_OBJECT_BYTES
				: PYTHON_CODE_BYTES,
			address) ||
	    walk->code_words[PYTHON_TYPE_OFFSET / 8] != state->process->code_type)
		return 0;
	walk->hash = code_hash(walk, &state->process->layout, address);
	place = walk->hash >> 32;
	OPAQUE(place);
	place &= PYTHON_KNOWN - 1;
	if (walk->known[place].hash == walk->hash && walk->hash)
		return walk->known[place].id;
	known = bpf_map_lookup_elem(&python_code_ids, &walk->hash);
	if (known) {
		walk->known[place].hash = 0;
		walk->known[place].id = *known;
		walk->known[place].hash = walk->hash;
		return *known;
	}
	walk->code_id = code_id_new(walk);
	if (!walk->code_id)
		return 0;
	if (bpf_map_update_elem(&python_code_ids, &walk->hash, &walk->code_id, BPF_NOEXIST)) {
		/* Another CPU may have been first. */
		known = bpf_map_lookup_elem(&python_code_ids, &walk->hash);
		return known ? *known : 0;
	}
	walk->is_new = 1;
	return walk->code_id;
}

/* ---- frames ---- */

static __always_inline void python_put(struct python_walk *walk, u64 word)
{
	u64 place = walk->count;

	OPAQUE(place);
	place &= PYTHON_DEPTH_MAX - 1;
	walk->words[place] = word;
	walk->places[place] = walk->count == walk->first ? PYTHON_PLACE_UNKNOWN : 0;
	walk->count++;
}

/* What follows is not known. */
static __always_inline long python_unreadable(const struct python_state *state)
{
	python_put(state->walk, PYTHON_UNREADABLE);
	if (python_stays(state))
		count_loss(VALUE_loss_reason_python_unreadable);
	return 1;
}

/* Where the frames from first on belong is known. */
static __always_inline void python_call_ends(struct python_walk *walk, u64 place)
{
	u64 first = walk->first;

	if (walk->first == walk->count)
		return;
	OPAQUE(first);
	walk->places[first & (PYTHON_DEPTH_MAX - 1)] = place;
	walk->first = walk->count;
}

/* The frame read last is the outermost one of its call of the loop, by its own word. The C frame of the next one refers to the frame that
 * follows, unless this one was being made. 0 or -1. */
static __always_inline int python_next_call(const struct python_state *state, u64 previous)
{
	const struct python_layout *layout = &state->process->layout;
	struct python_walk *walk = state->walk;

	python_call_ends(walk, walk->cframe);
	if (!previous)
		return 0;
	if (unwind_copy(state->task, &walk->value, sizeof(walk->value),
			walk->cframe + layout->cframe_previous) ||
	    unwind_copy(state->task, &walk->other, sizeof(walk->other),
			walk->value + layout->cframe_frame) ||
	    walk->other != previous)
		return -1;
	walk->cframe = walk->value;
	return 0;
}

/* Which instruction it stands at, in code units. */
static __always_inline s64 frame_unit(const struct python_state *state, u64 code)
{
	const struct python_layout *layout = &state->process->layout;
	u64 word = frame_word(state->walk, layout->frame_instruction);

	if (!layout->code_bytes)
		return (s32)word >> (layout->instruction_shift & 1);
	return (s64)(word - code - layout->code_bytes) >> 1;
}

/* One that has not begun is left out, as Python does: what enters a function is its caller's, and so is what only cleans up behind it. */
static __always_inline void python_put_frame(const struct python_state *state, u8 owner)
{
	const struct python_layout *layout = &state->process->layout;
	struct python_walk *walk = state->walk;
	u64 code = PYTHON_CODE_OF_FRAME(frame_word(walk, layout->frame_code));
	s64 unit = frame_unit(state, code);

	if (code != walk->code) {
		walk->is_new = 0;
		walk->code_id = code_id(state, code);
		walk->code = code;
		if (walk->is_new && send_code(state))
			walk->code_id = 0;
	}
	if (!walk->code_id) {
		python_unreadable(state);
		return;
	}
	if (layout->code_first_traced && owner != PYTHON_OWNED_BY_GENERATOR &&
	    unit < code_int(walk, layout->code_first_traced))
		return;
	/* One that has executed nothing stands before its first instruction. */
	unit++;
	if (unit < 0 || unit > (s64)PYTHON_INSTRUCTION_MAX)
		unit = 0;
	python_put(walk, PYTHON_FRAME_OF(walk->code_id, unit));
}

/* Frames of calls lie behind each other, the outer ones before the inner ones: where the next ones are likely to be on the same page it is
 * read up to this one. 0 or -1. */
static __always_inline int read_frame(const struct python_state *state, u64 at)
{
	const struct python_layout *layout = &state->process->layout;
	struct python_walk *walk = state->walk;
	u64 place = at % ARCH_PAGE_BYTES, size;
	bool is_near = walk->last ? walk->last - at < PYTHON_NEAR_BYTES
				  : !PYTHON_FRAMES_ARE_OBJECTS(layout);

	if (at % 8)
		return -1;
	walk->last = at;
	if (at - walk->page_at <= walk->page_end - walk->page_at) {
		walk->base = place / 8;
		return 0;
	}
	if (is_near && place < ARCH_PAGE_BYTES - PYTHON_FRAME_OBJECT_BYTES) {
		size = place + PYTHON_FRAME_OBJECT_BYTES;
		OPAQUE(size);
		if (!unwind_copy(state->task, walk->page, size & (ARCH_PAGE_BYTES - 1), at - place)) {
			walk->page_at = at - place;
			walk->page_end = at;
			walk->base = place / 8;
			return 0;
		}
	}
	walk->page_at = walk->page_end = PAGE_NONE;
	walk->base = 0;
	return unwind_copy(state->task, walk->page, layout->frame_bytes & 127, at) ? -1 : 0;
}

/* The frame read last is the only one of its call of the loop. */
static __always_inline void python_object_ends(const struct python_state *state)
{
	struct python_walk *walk = state->walk;

	python_call_ends(walk, walk->cframe);
	if (walk->cframe != PYTHON_PLACE_UNKNOWN &&
	    unwind_copy(state->task, &walk->cframe, sizeof(walk->cframe),
			walk->cframe + state->process->layout.cframe_previous))
		walk->cframe = PYTHON_PLACE_UNKNOWN;
}

static long python_next(u32 index, struct python_state *state)
{
	const struct python_layout *layout = &state->process->layout;
	struct python_walk *walk = state->walk;
	u64 at = walk->frame, owner, previous;

	if (!at || walk->count >= PYTHON_DEPTH_MAX - 1)
		return 1;
	if (read_frame(state, at))
		return python_unreadable(state);
	owner = frame_byte(walk, layout->frame_owner);
	previous = frame_word(walk, layout->frame_previous);
	walk->frame = previous;
	if (layout->boundary == PYTHON_BOUNDARY_SHIM && owner >= PYTHON_OWNED_BY_C) {
		python_call_ends(walk, at);
		return 0;
	}
	python_put_frame(state, owner);
	if (PYTHON_FRAMES_ARE_OBJECTS(layout))
		python_object_ends(state);
	else if (layout->boundary == PYTHON_BOUNDARY_ENTRY &&
		 frame_byte(walk, layout->frame_entry) && python_next_call(state, previous))
		return python_unreadable(state);
	return 0;
}

/* The state of the thread. 0: it has none. */
static __always_inline u64 python_thread(const struct python_state *state, u64 pointer)
{
	const struct python_process *process = state->process;
	struct python_walk *walk = state->walk;
	u64 thread;

	if (unwind_copy(state->task, &walk->value, sizeof(walk->value),
			pointer + process->thread_slot))
		return 0;
	thread = walk->value;
	/* In a subinterpreter it has another one. */
	if (process->current &&
	    !unwind_copy(state->task, &walk->value, sizeof(walk->value), process->current) &&
	    walk->value && walk->value != thread &&
	    !unwind_copy(state->task, &walk->other, sizeof(walk->other),
			 walk->value + process->layout.thread_id) &&
	    walk->other == pointer)
		return walk->value;
	return thread;
}

/* The frame that it runs, and what tells where that is; false: none, or it is no state of this thread. */
static __noinline bool python_begin(const struct python_state *state)
{
	const struct python_layout *layout;
	struct python_walk *walk;
	u64 pointer, thread;

	if (!state || !state->walk || !state->process)
		return false;
	walk = state->walk;
	layout = &state->process->layout;
	pointer = arch_thread_pointer(state->task);
	thread = python_thread(state, pointer);
	/* What lies there when an interpreter has ended is another's. */
	if (!thread ||
	    unwind_copy(state->task, walk->code_words, PYTHON_THREAD_BYTES, thread) ||
	    code_word(walk, layout->thread_id) != pointer)
		return false;
	walk->frame = code_word(walk, layout->thread_frame);
	walk->cframe = walk->frame;
	walk->loop = state->process->loop;
	walk->loop_cold = state->process->loop_cold;
	if (PYTHON_FRAMES_ARE_OBJECTS(layout))
		walk->cframe = layout->thread_cframe ? code_word(walk, layout->thread_cframe)
						     : PYTHON_PLACE_UNKNOWN;
	else if (layout->cframe_previous &&
		 unwind_copy(state->task, &walk->frame, sizeof(walk->frame),
			     walk->cframe + layout->cframe_frame))
		walk->frame = 0;
	return walk->frame != 0;
}

/* What of Python the thread is in. */
static __noinline int python_take(struct python_walk *walk, struct task_struct *task, u32 pid,
				  u32 interrupts)
{
	struct python_state state = {.walk = walk, .task = task};

	if (!walk)
		return 0;
	walk->count = walk->next = walk->copying = walk->first = 0;
	walk->pid = pid;
	state.process = bpf_map_lookup_elem(&python_processes, &walk->pid);
	walk->page_at = walk->page_end = PAGE_NONE;
	walk->last = 0;
	walk->code = 0;
	walk->loop.end = 0;
	walk->interrupts = interrupts;
#ifdef UNWIND_OTHERS
	walk->switches = switches_of(task);
#endif
	if (state.process && python_begin(&state))
		bpf_loop(PYTHON_STEPS, python_next, &state, 0);
	return 0;
}

static __always_inline bool is_within(const struct python_extent *extent, u64 address)
{
	return address - extent->start < extent->end - extent->start;
}

/* Do the next ones belong to the call that was just left, at this address, so that the C stack goes on at sp? */
static __always_inline bool python_is_due(const struct python_walk *walk, u64 address, u64 sp)
{
	u64 next = walk->next;

	if (walk->next >= walk->count)
		return false;
	/* A return address may be where the next function begins. */
	if (walk->loop.end)
		return is_within(&walk->loop, address - 1) ||
		       is_within(&walk->loop_cold, address - 1);
	OPAQUE(next);
	return walk->places[next & (PYTHON_DEPTH_MAX - 1)] < sp;
}

/* Takes the next one out. */
static __always_inline u64 python_get(struct python_walk *walk)
{
	u64 next = walk->next++, following = next + 1;
	bool ends = walk->next >= walk->count;

	OPAQUE(next);
	OPAQUE(following);
	if (ends || (walk->copying == PYTHON_COPY_CALL &&
		     walk->places[following & (PYTHON_DEPTH_MAX - 1)]))
		walk->copying = PYTHON_COPY_NONE;
	return walk->words[next & (PYTHON_DEPTH_MAX - 1)];
}

#endif
