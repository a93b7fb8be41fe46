/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chains of functions as strings, for reports with a row a chain: where in its functions does not tell chains apart. */
#ifndef GPUPROBE_REPORTS_STACK_STRINGS_H
#define GPUPROBE_REPORTS_STACK_STRINGS_H

#include "base/map.h"
#include "view/view.h"

/* view: the caller's, set before the first is asked for; all else 0. */
struct stack_strings {
	const struct view *view;
	struct map known; /* (pid, stack) -> number of its string */
	struct string_table strings;
};

/* The number of a record's chain, a line a function, innermost first, in strings. -ENOMEM. */
s64 stack_strings_number(struct stack_strings *stacks, const struct record_header *record);
void stack_strings_free(struct stack_strings *stacks);

#endif
