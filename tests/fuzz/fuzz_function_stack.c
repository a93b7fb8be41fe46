/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as the code of a function that no unwind table knows. */
#include <stdlib.h>

#include "code/function_stack.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#define START 0x401000

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct function_stack stack = {0};

	if (!function_stack_read(data, size, START, &stack, NULL)) {
		if (!stack.count || stack.items[0].address != START)
			abort();
		for (size_t i = 1; i < stack.count; i++)
			if (stack.items[i].address <= stack.items[i - 1].address ||
			    stack.items[i].address >= START + size)
				abort();
	}
	function_stack_free(&stack);
	return 0;
}
