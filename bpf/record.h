/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The records: the same bytes in the kernel, in the agent, in a capture file. The structs are the
 * rows of record.def expanded; this header adds the header that every record starts with. Included
 * by BPF programs, the agent and userspace alike, so it includes nothing itself: the includer
 * provides u8..u64, s32 and s64.
 */
#ifndef GPUPROBE_RECORD_H
#define GPUPROBE_RECORD_H

#define RECORD_DURATION_OPEN  (~0ULL) /* a span that had not ended when the window closed */
#define RECORD_SIZE_MAX_BYTES 65528   /* size is 16 bits, and a multiple of 8 */
#define RECORD_SOURCE_TOOL    1	      /* facts of userspace itself: options, host, ledger */
#define RECORD_SOURCE_BPF \
	2 /* all BPF programs together; agents and imports are numbered from 3 on */

/*
 * 40 bytes. source is an id space, not a stream: ids (name, stack, every ID field) mean something
 * only together with it. ts and dur are nanoseconds of the host's CLOCK_MONOTONIC; pid and tid are
 * the host's.
 */
struct record_header {
	u16 size_bytes; /* of the whole record with its tail, a multiple of 8 */
	u16 kind;	/* enum record_kind */
	u32 source;
	u64 ts;
	u64 dur; /* 0 for a point, RECORD_DURATION_OPEN for a span without end */
	u32 pid; /* 0: belongs to no process */
	u32 tid;
	u32 name;  /* text id, 0: none */
	u32 stack; /* stack id, 0: none */
};

enum record_shape { SHAPE_FACT, SHAPE_SPAN, SHAPE_POINT, SHAPE_COUNTER, SHAPE_TOTAL };
enum record_row { ROW_NONE, ROW_THREAD, ROW_PROCESS, ROW_STREAM, ROW_SYNC, ROW_DEVICE };

/* struct record_TAG */
#define KIND(number, tag, shape, row, meaning) \
	struct record_##tag {                  \
		struct record_header header;
#define FIELD(tag, type, name, unit, reference, absent, meaning)	type name;
#define ARRAY(tag, type, name, count, unit, reference, absent, meaning) type name[count];
#define END(tag)                                             \
	}                                                    \
	;                                                    \
	_Static_assert(sizeof(struct record_##tag) % 8 == 0, \
		       "record_" #tag ": not a multiple of 8");
#include "record.def"

/* KIND_TAG */
#define KIND(number, tag, shape, row, meaning) KIND_##tag = number,
enum record_kind {
#include "record.def"
};

/* VALUE_ENUM_TAG */
#define ENUM_VALUE(name, number, tag, meaning) VALUE_##name##_##tag = number,
enum record_enum_value {
#include "record.def"
};

/* One argument in a tail ARGS: this, then the value, padded with zeros to a multiple of 8 bytes. */
struct record_arg {
	u8 type;  /* enum record_arg_type */
	u8 place; /* of the argument, from 0 on */
	u8 group; /* enum record_arg_group */
	u8 pad;
	u16 length_bytes; /* of the value: of numbers 8, of what could not be read 0 */
	u16 pad2;
};

enum record_arg_type {
	RECORD_ARG_UNSIGNED = 1,
	RECORD_ARG_SIGNED,
	RECORD_ARG_STRING,     /* without a terminating 0 */
	RECORD_ARG_STRING_CUT, /* there was more of it */
	RECORD_ARG_UNREADABLE,
};

/* Arguments of one group have different places. */
enum record_arg_group { RECORD_ARG_OF_BEGIN, RECORD_ARG_OF_END };

#define RECORD_ARG_PLACES 16

_Static_assert(sizeof(struct record_header) == 40, "the record header is 40 bytes");
/* A function call with the ring buffer's own 8-byte header stays within one cache line. */
_Static_assert(sizeof(struct record_call) + 8 <= 64, "a call fits a 64-byte ring record");

#endif
