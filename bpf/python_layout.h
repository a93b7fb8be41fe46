/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Where CPython keeps its frames: what userspace finds out of an interpreter and the BPF programs walk by, and how a frame of Python
 * stands among the addresses of a stack.
 */
#ifndef GPUPROBE_BPF_PYTHON_LAYOUT_H
#define GPUPROBE_BPF_PYTHON_LAYOUT_H

/* How the end of the frames that one call of the interpreter's loop runs is told. */
enum python_boundary {
	PYTHON_BOUNDARY_ENTRY = 1, /* the outermost of them says so (3.11); where on the C stack that call is the chain of C frames
				    * tells (_PyCFrame) */
	PYTHON_BOUNDARY_SHIM, /* a frame without code follows them (3.12 and later), which lies on the C stack itself */
	/* Frames are objects of their own, and each has a call: */
	PYTHON_BOUNDARY_CFRAME, /* its C frame is in the chain of them (3.10) */
	PYTHON_BOUNDARY_CODE,	/* what lies in the code of the loop is one (3.9) */
};
#define PYTHON_FRAMES_ARE_OBJECTS(layout) ((layout)->boundary >= PYTHON_BOUNDARY_CFRAME)

/* How a code object keeps its lines. */
enum python_lines {
	PYTHON_LINES_PLACES, /* co_linetable of 3.11 and later */
	PYTHON_LINES_RANGES, /* co_linetable of 3.10 */
	PYTHON_LINES_STEPS,  /* co_lnotab of 3.9 */
};

/* Offsets in bytes, in the objects that the names begin with. */
struct python_layout {
	u16 boundary;	  /* enum python_boundary */
	u16 thread_frame; /* the current frame of a thread, or its C frame where cframe_* are not both 0 */
	u16 thread_id;	  /* what pthread_self() says: the thread pointer */
	u16 cframe_frame, cframe_previous;
	u16 thread_cframe; /* where frames are objects with a C frame each */
	u16 frame_bytes; /* so much of it is read */
	u16 frame_code, frame_previous;
	u16 frame_instruction; /* a pointer; of objects an int, of which instruction_shift makes code units */
	u16 instruction_shift;
	u16 frame_owner;     /* a byte: PYTHON_OWNED_BY_*; */
	u16 frame_entry;     /* where they end by that, a byte: it is the outermost of them */
	u16 code_first_line; /* int */
	u16 code_first_traced; /* int: a frame that stands before this code unit has not begun */
	u16 code_file, code_name, code_lines;
	u16 code_numbered; /* no two of an interpreter have the same co_version */
	u16 code_bytes; /* its instructions; 0 where frames are objects */
	u16 text_data; /* of a text that is ASCII; */
	u16 wide_text_data; /* of one that is not */
	u16 lines;	    /* enum python_lines */
};

/* So much of a frame and of a code object is read, and where an object has its type. */
#define PYTHON_FRAME_BYTES 80
#define PYTHON_FRAME_OBJECT_BYTES 112
#define PYTHON_CODE_OBJECT_BYTES  128 /* where frames are objects */
#define PYTHON_CODE_BYTES  208
#define PYTHON_TYPE_OFFSET 8
#define PYTHON_THREAD_BYTES 184 /* and of the state of a thread */

/* From 3.14 on frames refer to code by what may have a tag (_PyStackRef); code objects are aligned in all versions. */
#define PYTHON_CODE_OF_FRAME(word) ((word) & ~7ULL)

#define PYTHON_OWNED_BY_GENERATOR 1
#define PYTHON_OWNED_BY_C	  3 /* a shim; at least */

/* Code, end behind it. */
struct python_extent {
	u64 start, end;
};

/* Behind the frames that are taken so many more are gone along for where they belong: frames of a call of the loop that has more come last. */
#define PYTHON_FOLLOWED_MAX 4096

#define PYTHON_SLOT_POINTERS 2

/* An interpreter in a process. */
struct python_process {
	struct python_layout layout;
	u64 thread_slot; /* from the thread pointer, or the block that it leads to by these pointers: where the state of the thread is */
	u32 slot_pointer[PYTHON_SLOT_POINTERS]; /* how far from the thread pointer the first one is, and from what it points to the second one; */
	u32 slot_pointers; /* so many there are */
	u32 pad;
	u64 current;	 /* where the state of the thread is that holds the lock of the interpreter; 0: thread_slot tells all */
	u64 code_type;	 /* what all code objects refer to as their type */
	struct python_extent loop, loop_cold; /* the interpreter's loop, where that is what tells of calls, and its part that lies elsewhere */
	u64 code_dealloc; /* for userspace: the function that every code object ends in */
	u64 generation; /* of its code objects, another one whenever one ends; no other process has the same one. 0: ends are not counted */
};

/* Of the first generation in a process: so many ends until the next process's. */
#define PYTHON_GENERATION_OF(number) ((u64)(number) << 40)

/* A frame of Python among the addresses of a stack: no program and no kernel has code there. Behind the number of its code is
 * one more than the index of its instruction, so that 0 is a frame that has executed none. */
#define PYTHON_FRAME		      (1ULL << 63)
#define PYTHON_INSTRUCTION_BITS	      20
#define PYTHON_INSTRUCTION_MAX	      ((1ULL << PYTHON_INSTRUCTION_BITS) - 1)
#define PYTHON_FRAME_OF(code, number) (PYTHON_FRAME | (u64)(code) << PYTHON_INSTRUCTION_BITS | (number))
#define PYTHON_IS_FRAME(address)      ((address) >> 52 == 0x800)
#define PYTHON_CODE_OF(address)	      ((u32)((address) >> PYTHON_INSTRUCTION_BITS))
#define PYTHON_INSTRUCTION_OF(address) ((u32)((address) & PYTHON_INSTRUCTION_MAX))
#define PYTHON_UNREADABLE	      PYTHON_FRAME /* a frame, or more, that could not be read */

#define PYTHON_NAME_BYTES  256
#define PYTHON_FILE_BYTES  512
#define PYTHON_LINES_BYTES 2048
#define PYTHON_LONG_LINES_BYTES 65536

/* How the characters of a text are kept. */
struct python_text {
	u16 bytes;	/* of it that are here */
	u8 width;	/* bytes a character: 1 (Latin-1), 2 or 4; 0: it is ASCII */
	u8 pad;
};

/* A code object of a program, sent when a stack with it is seen first. The bytes of its table of lines end the event. */
struct python_code {
	u32 id;
	u32 pid;
	s32 first_line;
	u32 lines_bytes; /* of the table, that are here */
	u32 lines_form;	 /* enum python_lines */
	u32 pad;
	struct python_text name, file;
	u8 name_bytes[PYTHON_NAME_BYTES], file_bytes[PYTHON_FILE_BYTES];
	u8 lines[PYTHON_LINES_BYTES]; /* or PYTHON_LONG_LINES_BYTES of them */
};

#endif
