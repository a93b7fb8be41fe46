/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a function does with its stack, told by its instructions: unwind rules (bpf/unwind_table.h) for code that no table says anything
 * of, as assemblers and some compilers leave it. All ways from its start are followed; where two of them meet that differ, only what they
 * have in common is known.
 */
#ifndef GPUPROBE_CODE_FUNCTION_STACK_H
#define GPUPROBE_CODE_FUNCTION_STACK_H

#include <stddef.h>

#include "base/err.h"
#include "../bpf/unwind_table.h"

#define FUNCTION_STACK_MAX_BYTES (512 << 10)

/* From this address on. */
struct function_stack_row {
	u64 address;
	struct unwind_rule rule; /* UNWIND_CFA_NONE: it can't be told, or nothing leads there */
};

/* Zero-initialise; the first row is at the function's first address. */
struct function_stack {
	struct function_stack_row *items;
	size_t count, capacity;
};

/* bytes: all of the function. -ENOTSUP: it is not called as functions are, since it goes on in the frame of another (an interpreter's
 * pieces), or it is larger than FUNCTION_STACK_MAX_BYTES. Rows of earlier calls are replaced; the caller frees. */
int function_stack_read(const u8 *bytes, size_t size_bytes, u64 address, struct function_stack *stack,
			struct err *err);
void function_stack_free(struct function_stack *stack);

#endif
