/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the two halves of function_code.h share: entries (function_code.c), returns (function_code_returns.c). */
#ifndef GPUPROBE_CODE_FUNCTION_CODE_PARTS_H
#define GPUPROBE_CODE_FUNCTION_CODE_PARTS_H

#include "code/function_code.h"

#define FUNCTION_TABLE_MAX_BYTES (64 << 10)

/* All instructions of all ranges, one after the other. Start it with decoder and function. */
struct function_walk {
	struct decoder *decoder;
	const struct function_code *function;
	size_t range; /* where the next instruction is */
	u64 offset;
	bool unknown; /* it ended at bytes that are no known instruction */
};

bool function_walk_next(struct function_walk *walk, struct instruction *ret_instruction);

/* Can what stands behind it be come to from it? What is called may not return, and ends a function so. */
static inline bool function_goes_on(const struct instruction *instruction)
{
	return instruction->flow == FLOW_NEXT || instruction->flow == FLOW_JUMP_CONDITIONAL;
}

bool function_contains(const struct function_code *function, u64 address);
/* jmp *slot(%rip), jmp *slot: one fixed pointer, of a function that is bound at run time. */
bool function_is_slot_jump(const struct instruction *jump);
/* Is there what leads on to a function of another file: a jump by a fixed pointer, of a procedure linkage table? Whoever jumps there
 * has left. */
bool function_is_stub(struct decoder *decoder, const struct function_code *function, u64 address);
/* May it be a step of computing an address of the function's own code, other than by a jump table of distances
 * from the table: does it take such an address, or is it a constant that may be the distance to one? */
bool function_computes_code(const struct function_code *function, const struct instruction *instruction);
/* Were this a jump table of 32-bit distances from its own start, could an entry lead to [first, last]? */
bool function_table_reaches(const struct function_code *function, u64 table, u64 first, u64 last);

#endif
