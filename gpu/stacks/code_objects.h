/* SPDX-License-Identifier: MIT */
/*
 * Code objects of Python that frames refer to: each goes through the ring once, as gpuprobe's BPF programs tell of them (bpf/python_layout.h),
 * and has a number from then on. Any thread, at once, without a lock; it is to run the code, so that it stays as it is. Memory is bounded.
 */
#ifndef GPUPROBE_GPU_CODE_OBJECTS_H
#define GPUPROBE_GPU_CODE_OBJECTS_H

#include "python_past.h"
#include "stack_memory.h"
#include "../base/ring.h"
#include "../tables.h"

struct code_objects {
	u64 hashes[AGENT_PYTHON_CODES]; /* by what is left of the number; 0: there is none */
};

/* Those that a thread came by, so that it need not make out again which they are. */
#define CODE_PAST_SETS	64U
#define CODE_PAST_WAYS	4U
#define CODE_PAST_WORDS 11U
struct code_past {
	/* Two lines of the cache each, of which the first one mostly does. */
	struct code_seen {
		u64 address;
		u64 words[CODE_PAST_WORDS]; /* by which it is known */
		u64 hash;		    /* of the words, */
		u64 whole;		    /* and of all that tells which it is */
		u32 id;
		s32 first_traced;
		u64 pad;
	} codes[CODE_PAST_SETS * CODE_PAST_WAYS];
	u64 addresses[CODE_PAST_SETS][CODE_PAST_WAYS]; /* 0: none */
	u32 filled;		       /* that of the tables that tell of the interpreter: */
	struct python_process process; /* a copy, which stays as it is during a walk */
	u32 code_bytes;	    /* so much of a code object is read; 0: they can't be read by that */
	u64 file, file_sum; /* the text that was read last in this walk; 0: none */
	u32 next;	    /* which of a set the next one replaces */
	bool changed;	    /* in this walk what is kept of a code object became something else */
};

struct python_reader {
	struct stack_memory *memory;
	u32 moment; /* of the memory */
	const struct python_process *process;
	struct code_objects *codes;
	struct code_past *past; /* of the thread */
	struct ring_writer *writer;
	u32 first_number; /* of the codes */
	u32 pid;	  /* as the target sees it */
};

struct code_object_seen {
	u32 id; /* 0: it is none, can't be read, or there is no room for it */
	s32 first_traced;
	u32 slot; /* among those that the thread keeps */
};

/* Before code objects of this interpreter are looked at, which was filled in so often. False: it is another one than the last time. */
bool code_past_begin(struct code_past *past, u32 filled, const struct python_process *process);
/* The one at an address. */
struct code_object_seen code_objects_get(const struct python_reader *reader, u64 address);
/* Of these steps, the first one whose code object is not the one that was seen there, and has an id, any more; to: there is none. */
u32 code_objects_same_until(const struct python_reader *reader, const struct python_step *steps,
			    u32 from, u32 to);

#endif
