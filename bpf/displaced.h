/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An instruction that the program standing on it does instead of the kernel, on kernels where a program may set
 * registers: the kernel would single-step it, an order of magnitude slower. code/displaced_x86_64.c makes the
 * description from the machine code, displaced_execute.h carries it out. The includer provides the integer names.
 *
 * None reads or writes memory: what the processor does in one piece, a copy by the kernel may not. None sets the
 * stack pointer: where another tool takes the function's return, the kernel would look for its address at the new one.
 */
#ifndef GPUPROBE_BPF_DISPLACED_H
#define GPUPROBE_BPF_DISPLACED_H

enum displaced_operation {
	DISPLACED_NONE, /* left to the kernel */
	DISPLACED_SKIP, /* does nothing: endbr64, nop */
	DISPLACED_MOVE, /* destination = operand; flags stay. From here on all have an operand. */
	DISPLACED_ADD,	/* destination = destination + operand, and flags; and so on */
	DISPLACED_SUBTRACT,
	DISPLACED_COMPARE, /* subtract, but only flags */
	DISPLACED_AND,
	DISPLACED_TEST, /* and, but only flags */
	DISPLACED_OR,
	DISPLACED_XOR,
};

#define DISPLACED_NO_REGISTER 0xff
#define DISPLACED_IP	      16 /* others are numbered as in machine code: rax 0, rcx 1, ... r15 15 */

/* operand = base + (index << shift) + constant, of which the low operand_bits count. */
struct displaced_instruction {
	s64 constant;
	u8 operation;	 /* enum displaced_operation */
	u8 size_bytes;	 /* of the instruction */
	u8 bits;	 /* of the operation: 32 (the upper half of the destination becomes 0) or 64 */
	u8 operand_bits; /* 8, 16, 32, 64 */
	u8 operand_signed;
	u8 destination;
	u8 base, index; /* DISPLACED_NO_REGISTER: 0 */
	u8 shift;
	u8 pad[7];
};

#endif
