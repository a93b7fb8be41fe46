/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code objects on the way along the frames of a thread (python.h): by which number they are known, and that userspace is told of them once. */
#ifndef GPUPROBE_BPF_PYTHON_CODE_H
#define GPUPROBE_BPF_PYTHON_CODE_H

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

#define PYTHON_KNOWN	  256 /* a power of two */
#define PYTHON_SEEN_BITS  8
#define PYTHON_SEEN	  (1 << PYTHON_SEEN_BITS) /* pairs of places */

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

/* Of what a code object refers to: so much is read at once, and this is tried first. */
#define PYTHON_PIECE_BYTES 2048
#define PYTHON_PIECE_WORDS (PYTHON_PIECE_BYTES / 8)
#define PYTHON_GUESS_BYTES 256

enum { PYTHON_REFERRED_NAME, PYTHON_REFERRED_FILE, PYTHON_REFERRED_LINES, PYTHON_REFERRED };
/* Objects, and pieces of them: one of each text at most; and the end. */
#define PYTHON_REFERRED_STEPS (2 * PYTHON_REFERRED + 1 + PYTHON_LONG_LINES_BYTES / PYTHON_PIECE_BYTES)

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
	u32 unreadable; /* so many of them are */
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
	s32 first_traced; /* of that, code_first_traced of the layout */
	u64 generation; /* of the process's code objects when the walk began; 0: nobody counts */
	/* What is read on the way; the stacks of programs have no room for it on kernels before 6.13. */
	u64 value, other;
	struct python_text_head text;
	struct python_bytes_head lines;
	u64 page[ARCH_PAGE_BYTES / sizeof(u64)];
	u64 code_words[32];
	/* What a code object refers to, on the way through it. */
	u64 piece[2 * PYTHON_PIECE_WORDS]; /* the word behind what is hashed is changed, too */
	u64 piece_at, piece_left; /* the object, and what of it is not hashed yet, */
	u32 piece_from, piece_read; /* which begins there; so much of it is in piece */
	u32 referred; /* the next object */
	u64 stack_at; /* or in piece is what lies on the stack from there on; 0: not now */
	struct python_known {
		u64 hash;
		u64 id;
	} known[PYTHON_KNOWN]; /* code objects that were met; outlasts the walk */
	/* The same by where they lie: while the generation is that in which one was looked at it lies there yet. Outlasts the walk. */
	struct python_seen {
		u64 tag; /* of its address and the generation; 0: none */
		u32 id;
		s32 first_traced;
	} seen[PYTHON_SEEN][2]; /* the one that came last first */
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

/* What no two code objects have in common, be it that one came to lie where the other was: where it is, how large, what it refers to,
 * lines, and, where it has one, its number (co_version; else mix_referred() goes on). What changes while it lives is left out: in all versions words 0 and 1, in some 6, 7, 16 and 17. A sum of products with
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

/* Adds so many bytes of the piece that was read to the hash, from this word on. */
static __always_inline void mix_piece(struct python_walk *walk, u64 from, u64 size)
{
	u64 hash = walk->hash + size, count = (size + 7) / 8, end = from + size / 8;

	OPAQUE(end);
	walk->piece[end & (2 * PYTHON_PIECE_WORDS - 1)] &= (1ULL << (size & 7) * 8) - 1;
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < PYTHON_PIECE_WORDS; i++) {
		u64 place = from + i;

		if (i >= count)
			break;
		OPAQUE(place);
		hash = (hash ^ walk->piece[place & (2 * PYTHON_PIECE_WORDS - 1)]) *
		       0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 31;
	}
	walk->hash = hash;
}

#define TEXT_WIDTH(state)   ((state) >> 2 & 7)
#define TEXT_COMPACT(state) ((state) >> 5 & 1)
#define TEXT_ASCII(state)   ((state) >> 6 & 1)

/* Where the next object is that it refers to, and how much of it is sent; its head, and mostly all of it, is read. -1: it can't be. */
static __always_inline int begin_referred(const struct python_state *state)
{
	const struct python_layout *layout = &state->process->layout;
	struct python_walk *walk = state->walk;
	u32 which = walk->referred++;
	bool is_text = which != PYTHON_REFERRED_LINES;
	u64 at = code_word(walk, !is_text			? layout->code_lines
				 : which == PYTHON_REFERRED_NAME ? layout->code_name
								 : layout->code_file);
	u64 size, max_bytes = which == PYTHON_REFERRED_NAME ? PYTHON_NAME_BYTES - 4
							    : PYTHON_FILE_BYTES - 4;

	walk->piece_at = at;
	walk->piece_read = at % ARCH_PAGE_BYTES <= ARCH_PAGE_BYTES - PYTHON_GUESS_BYTES
				   ? PYTHON_GUESS_BYTES
				   : sizeof(struct python_text_head);
	size = walk->piece_read;
	OPAQUE(size);
	if (unwind_copy(state->task, walk->piece, size & (2 * PYTHON_GUESS_BYTES - 1), at))
		return -1;
	size = walk->piece[2];
	if (!is_text) {
		walk->piece_from = sizeof(struct python_bytes_head);
		max_bytes = PYTHON_LONG_LINES_BYTES - 1;
	} else {
		walk->piece_from = TEXT_ASCII((u32)walk->piece[4]) ? layout->text_data
								   : layout->wide_text_data;
		if (size >> 32)
			return -1;
		size *= TEXT_WIDTH((u32)walk->piece[4]);
	}
	walk->piece_left = size < max_bytes ? size : max_bytes;
	return 0;
}

/* Of what the code object refers to the next piece, as much as is sent of it. */
static long mix_referred(u32 index, struct python_state *state)
{
	struct python_walk *walk = state->walk;
	u64 size = walk->piece_left;

	if (!size) {
		if (walk->referred == PYTHON_REFERRED)
			return 1;
		if (begin_referred(state))
			goto unreadable;
		size = walk->piece_left;
	}
	if (walk->piece_from + size > walk->piece_read) {
		size = size < PYTHON_PIECE_BYTES ? size : PYTHON_PIECE_BYTES;
		OPAQUE(size);
		if (unwind_copy(state->task, walk->piece, size & (2 * PYTHON_PIECE_BYTES - 1),
				walk->piece_at + walk->piece_from))
			goto unreadable;
		walk->piece_at += size;
		walk->piece_read = walk->piece_from;
		mix_piece(walk, 0, size);
	} else {
		mix_piece(walk, walk->piece_from / 8, size);
	}
	walk->piece_left -= size;
	return 0;
unreadable:
	walk->hash = 0;
	return 1;
}

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

/* Is all that was read of the thread that which it has? One that was woken has another number of switches only when it has left its CPU
 * again; before that it is on it. It is counted before it is off it, so this is asked first. */
static __always_inline bool python_stays(const struct python_state *state)
{
#ifdef UNWIND_OTHERS
	if (bpf_core_field_exists(state->task->on_cpu) && state->task->on_cpu)
		return false;
	barrier();
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

/* Reads it. 0, or -1: it is none, or can't be read. */
static __noinline int read_code_words(const struct python_state *state, u64 address)
{
	struct python_walk *walk;

	if (!state || !state->walk || !state->process)
		return -1;
	walk = state->walk;
	if (unwind_copy(state->task, walk->code_words,
			PYTHON_FRAMES_ARE_OBJECTS(&state->process->layout)
				? PYTHON_CODE_OBJECT_BYTES
				: PYTHON_CODE_BYTES,
			address) ||
	    walk->code_words[PYTHON_TYPE_OFFSET / 8] != state->process->code_type)
		return -1;
	walk->hash = code_hash(walk, &state->process->layout, address);
	walk->referred = walk->piece_left = 0;
	return 0;
}

/* Of the one whose hash is known. 0: there is no room for it. */
static __noinline u32 code_id_of(struct python_walk *walk)
{
	u64 place;
	u32 *known;

	if (!walk)
		return 0;
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

/* 0: it is none, or could not be read, or there is no room for it. */
static __always_inline u32 code_id(struct python_state *state, u64 address)
{
	struct python_walk *walk = state->walk;

	if (read_code_words(state, address))
		return 0;
	/* Another one may lie here with all that it refers to where this one had its own: names, files and lines tell. */
	if (!state->process->layout.code_numbered)
		bpf_loop(PYTHON_REFERRED_STEPS, mix_referred, state, 0);
	return walk->hash ? code_id_of(walk) : 0;
}

static __always_inline struct python_seen *seen_at(struct python_walk *walk, u64 address)
{
	u64 place = address * 0x9e3779b97f4a7c15ULL >> (64 - PYTHON_SEEN_BITS);

	OPAQUE(place);
	return walk->seen[place & (PYTHON_SEEN - 1)];
}

static __always_inline u64 seen_tag(const struct python_walk *walk, u64 address)
{
	return walk->generation * 0xbf58476d1ce4e5b9ULL ^ address;
}

/* Was it looked at since a code object of the process ended last? Then nothing of it need be read. */
static __always_inline bool code_is_seen(struct python_walk *walk, u64 address)
{
	const struct python_seen *seen = seen_at(walk, address);
	u64 tag = seen_tag(walk, address);

	if (!walk->generation)
		return false;
	if (seen->tag != tag && (++seen)->tag != tag)
		return false;
	walk->code_id = seen->id;
	walk->first_traced = seen->first_traced;
	return true;
}

/* One that is being freed, or was, has no references, or where the next free memory is. (32 bits of them from 3.12 on, flags in the upper 16.) */
static __always_inline bool code_lives(const struct python_walk *walk)
{
	u64 references = walk->code_words[0];

	return (u32)references && !(u16)(references >> 32);
}

/* Which one it is, and userspace is told of it. Of a thread that did not sleep all the time what was read may be of no code object. */
static __always_inline void look_at_code(struct python_state *state, u64 address)
{
	struct python_walk *walk = state->walk;
	struct python_seen *seen;

	walk->is_new = 0;
	walk->stack_at = 0;
	walk->code_id = code_id(state, address);
	if (walk->is_new && send_code(state))
		walk->code_id = 0;
	walk->first_traced = code_int(walk, state->process->layout.code_first_traced);
	if (!walk->code_id || !walk->generation || !code_lives(walk) || !python_stays(state))
		return;
	seen = seen_at(walk, address);
	seen[1] = seen[0];
	seen->tag = seen_tag(walk, address);
	seen->id = walk->code_id;
	seen->first_traced = walk->first_traced;
}

#endif
