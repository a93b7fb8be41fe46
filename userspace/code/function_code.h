/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the bytes of a function tell: where a probe of its entry costs least, and where it is left. Works on bytes
 * only; code/module_code.h fetches them from a file. Nothing here is guessed: what cannot be shown to be right
 * is the first instruction (entries), or none (returns).
 */
#ifndef GPUPROBE_CODE_FUNCTION_CODE_H
#define GPUPROBE_CODE_FUNCTION_CODE_H

#include "code/code_references.h"
#include "code/code_sources.h"
#include "code/displaced.h"
#include "code/instruction.h"
#include "code/site_bytes.h"
#include "base/err.h"
#include "base/types.h"

enum function_frame {
	FRAME_UNKNOWN, /* nor is it known that there is code */
	FRAME_NONE,    /* the return address only */
	FRAME_THERE,
};

/* A piece of a function that lies in one place. */
struct code_range {
	u64 address; /* in the file */
	u64 file_offset;
	u64 size_bytes;
	const u8 *bytes;
	bool uncertain; /* other functions have this name too: it is a part only if this one jumps to it */
	bool nameless;	/* nothing but what jumps there says whose part it is */
};

struct function_code {
	const struct code_range *ranges; /* the first begins at the entry; then its other parts, by name, then nameless */
	size_t range_count;
	bool size_unknown; /* the first range only ends before the next symbol */
	bool pads_unknown; /* exceptions may go on where none of the ranges is */
	/* Of the whole file: what refers to addresses of code. NULL: unknown, only the first instruction is good
	 * for an entry, and there are no return sites. */
	const struct code_references *references;
	/* What leads to addresses of which that was asked, NULL: nothing was; and where to ask, NULL: nowhere. */
	const struct code_sources *sources;
	struct code_sources *questions;
	/* Is it the first address of a function? */
	bool (*is_function)(const void *data, u64 address);
	/* What is on the stack before this instruction, by its unwind table? */
	enum function_frame (*frame)(const void *data, u64 address);
	code_read_function read;
	const void *data; /* for all three */
};

/* ---- entries ---------------------------------------------------------------------------------------- */

struct function_place {
	u64 address;
	u64 file_offset;
	struct site_bytes bytes, first; /* of the instruction there, and of the function's first */
	u8 placed_bytes; /* behind the function's first byte; 0: its first instruction */
	u32 stack_bytes; /* how much higher the stack pointer was at the first instruction */
	struct displaced_instruction displaced; /* for the program to do; DISPLACED_NONE: the kernel does it */
	enum instruction_cost cost;
	u32 lost_arguments; /* set of registers that the function has overwritten before it, unread; of a restart: all */
	bool restarts; /* it is a conditional jump, by which the function begins again: see below */
	u8 condition;  /* if this holds, the low four bits of its opcode */
	bool long_nop; /* it is one of five bytes: the function's first instruction */
};

/* What a place may be, by the kernel and by how the function's return is seen. */
enum place_allowed {
	PLACE_DISPLACED = 1,   /* an instruction that the program does */
	PLACE_STACK_MOVED = 2, /* behind the one that makes the function's frame: no return address at [sp] */
	PLACE_ALLOWED_MAX = 4,
	PLACE_NO_LONG_NOP = 4, /* no nop of five bytes: behind one that is the first instruction, though it be stepped there */
};

/*
 * The first instruction of the entry block that the kernel emulates, if the stack pointer, the frame and the argument
 * registers are there as they were at the function's first: a return probe finds the return address at [sp], and who
 * reads arguments finds them. (A register that is overwritten whole before the function has read it held no argument
 * that it looks at.) The function may have stored elsewhere before: what an argument points to may be the later. Without
 * one, what the program can do, then what comes behind `sub $n,%rsp`, as far as that is allowed; else the first
 * instruction, single-stepped.
 * Never behind the first branch, at or behind an address that anything but the function's start leads to, never
 * a 5-byte nop but as the first instruction. NULL; or why the function can't be probed at all.
 *
 * A function that looks first whether its stack is large enough (Go) and, if not, calls somebody who sees to it and
 * jumps back to its own start, comes by its first instruction more than once a call. It is probed at the last jump
 * that leads to that: a call begins when it is not taken. Where that is no good place: why not.
 */
const char *function_code_place(struct decoder *decoder, const struct function_code *function,
				unsigned allowed, struct function_place *ret_place);
/* Always the first instruction, done by the program if it can be. For functions that can be probed. */
void function_code_place_first(struct decoder *decoder, const struct function_code *function,
			       struct function_place *ret_place);

/* ---- returns ---------------------------------------------------------------------------------------- */

enum return_site_kind {
	RETURN_SITE_RET,	      /* ret, ret n, rep ret, bnd ret; stepped unless a program emulates it */
	RETURN_SITE_JUMP,	      /* relative jmp out of the function: emulated by the kernel */
	RETURN_SITE_JUMP_CONDITIONAL, /* relative jcc out of it: left only if the condition holds */
	RETURN_SITE_JUMP_REGISTER,    /* jmp *%reg; stepped unless a program emulates it */
	RETURN_SITE_JUMP_MEMORY,      /* jmp *mem; the same */
};

/* An instruction by which a function is left. sp is as at the entry: [sp] holds the return address. Registers
 * are numbered as in machine code: rax 0, rcx 1, rdx 2, rbx 3, rsp 4, rbp 5, rsi 6, rdi 7, r8 8 ... r15 15; see
 * REGISTER_NONE and REGISTER_RIP (the displacement counts from the end of the instruction). */
struct return_site {
	u64 address; /* in the file */
	u64 file_offset;
	struct site_bytes bytes;
	enum return_site_kind kind;
	u16 popped_bytes;     /* ret n: what it takes off the stack besides the return address */
	u8 instruction_bytes; /* its length, prefixes included */
	u8 condition;	      /* JUMP_CONDITIONAL: low four bits of the opcode (4: je, 5: jne, ...) */
	u8 register_number;   /* JUMP_REGISTER */
	u8 base, index;	      /* JUMP_MEMORY: *(base + index * scale + displacement) */
	u8 scale;
	s64 displacement;
};

/*
 * All of them, by address; the caller frees. *ret_reason says why there are none: an exit is not known for sure,
 * or is an instruction that the kernel does not probe; then the count is 0. A function that never returns has
 * none and no reason. 0 or -ENOMEM.
 */
int function_code_returns(struct decoder *decoder, const struct function_code *function,
			  struct return_site **ret_sites, size_t *ret_count, const char **ret_reason);

#endif
