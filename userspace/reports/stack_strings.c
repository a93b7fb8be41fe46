/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reports/stack_strings.h"

#include <errno.h>

#include "base/cleanup.h"

s64 stack_strings_number(struct stack_strings *stacks, const struct record_header *record)
{
	_cleanup_text_ struct text text = {0};
	u64 pid = record->pid, *known = map_find(&stacks->known, pid, record->stack);
	s64 number;

	if (known)
		return (s64)*known;
	view_frames_append_lines(stacks->view, record->pid, record->stack, view_frame_append_name,
				 &text);
	number = string_table_add(&stacks->strings, text_string(&text), text.length);
	if (text.failed || number < 0 || map_set(&stacks->known, pid, record->stack, (u64)number))
		return -ENOMEM;
	return number;
}

void stack_strings_free(struct stack_strings *stacks)
{
	map_free(&stacks->known);
	string_table_free(&stacks->strings);
}
