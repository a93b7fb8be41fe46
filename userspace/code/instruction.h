/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One instruction: what a probe on it costs and whether the kernel takes it, where it leads to, what it changes.
 * Of the files of code/ only those named
 * *_x86_64.c know machine code.
 */
#ifndef GPUPROBE_CODE_INSTRUCTION_H
#define GPUPROBE_CODE_INSTRUCTION_H

#include "base/err.h"
#include "base/types.h"

#define INSTRUCTION_MAX_BYTES 16 /* what the kernel looks at */

struct decoder;

int decoder_create(struct decoder **ret_decoder, struct err *err);
struct decoder *decoder_free(struct decoder *decoder); /* NULL allowed; returns NULL */

enum instruction_cost {
	COST_CHEAP,   /* emulated by the kernel: nop, push reg, relative call/jmp/jcc */
	COST_STEPPED, /* single-stepped out of line: about ten times as much */
};

/* NULL and a cost: it can be probed. Else the reason why not, in words; one address that the kernel refuses
 * fails a whole uprobe_multi link, so in doubt it is refused here. */
const char *decoder_check(struct decoder *decoder, const u8 *bytes, size_t size, u64 address,
			  enum instruction_cost *ret_cost);

enum instruction_flow {
	FLOW_NEXT,
	FLOW_JUMP,	       /* relative: target */
	FLOW_JUMP_CONDITIONAL, /* the same */
	FLOW_JUMP_REGISTER,
	FLOW_JUMP_MEMORY,
	FLOW_CALL, /* target where it is relative */
	FLOW_RETURN,
	FLOW_OTHER_RETURN, /* iret, far return, sysret: not known here */
	FLOW_STOP,	   /* ud2, hlt, int3: nothing goes on behind it */
};

#define INSTRUCTION_NO_CONDITION 0xff
#define REGISTER_NONE		 0xff
#define REGISTER_RIP		 16 /* others are numbered as in machine code: rax 0, rcx 1, ... r15 15 */

/* As sets of bits: what arguments and the return address may be found by; and what only some functions are given
 * more (rax: number of vector arguments of a variadic one, r10: frame of the surrounding one). */
#define REGISTERS_ARGUMENTS (1 << 1 | 1 << 2 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 9)
#define REGISTERS_HIDDEN    (1 << 0 | 1 << 10)
#define REGISTERS_STACK	    (1 << 4)

/* The register that holds an argument at a function's entry, as such a set; number: from 1 on, of those that are whole words.
 * 0: it is on the stack, or none. */
u32 instruction_argument_register(unsigned number);

struct instruction_memory {
	u8 base, index; /* REGISTER_NONE; base may be REGISTER_RIP */
	u8 scale;
	bool other_segment; /* fs, gs */
	s64 displacement;
};

struct instruction {
	u64 address;
	u8 size_bytes;
	enum instruction_flow flow;
	bool has_target;
	u64 target;
	u8 condition;	   /* of a conditional jump: the low four bits of its opcode; or INSTRUCTION_NO_CONDITION: loop, jrcxz */
	u16 popped_bytes;  /* of a ret */
	u8 jump_register;  /* of FLOW_JUMP_REGISTER */
	bool notrack;
	bool five_byte_nop;
	bool endbr64;
	bool nop; /* any */
	struct instruction_memory memory; /* of the operand of FLOW_JUMP_MEMORY, of lea, of loads */
	bool harmless; /* changes only flags and `written`, as far as it changes anything */
	u32 frame_bytes; /* of `sub $n,%rsp`, n positive and a multiple of 8 */
	u8 frame_store_bytes; /* of a mov to `memory` at a constant distance from rsp; 0: it is none */
	bool stores; /* mov to memory that no frame is in: not by rsp or rbp, in no segment of its own */
	bool uses_below_stack; /* has memory at a constant distance below rsp */
	bool uses_below_frame; /* the same, below rbp */
	bool restores_stack; /* pop, leave, add to or lea into rsp: as an epilogue does */
	/* What a jump table is recognised by */
	enum {
		DATA_OTHER,
		DATA_LEA_RIP,	/* destination = data_address */
		DATA_LOAD_S32,	/* destination = sign-extended 32 bits of memory */
		DATA_LOAD_U64,	/* destination = 64 bits of memory */
		DATA_ADD,	/* destination += source */
		DATA_COMPARE,	/* with the constant `compared` */
		DATA_CONSTANT_U64,
	} data;
	u8 destination, source;
	u64 data_address;
	s64 compared;
	u64 constant; /* any other, that is not where a jump leads to: 0 where there is none */
	u32 read, written; /* bit n: general register n may be; in doubt written is set */
	u32 replaced; /* of those written: whole, and by what does not depend on what was in it */
};

/* Decodes what stands at *bytes; false when it is no instruction that is known here. */
bool decoder_read(struct decoder *decoder, const u8 *bytes, size_t size, u64 address,
		  struct instruction *ret_instruction);

/* For what must end soon whatever a file says: decoder_read is asked so often from now on, then it knows nothing more. */
void decoder_limit(struct decoder *decoder, u64 count);
bool decoder_is_spent(const struct decoder *decoder);

#endif
