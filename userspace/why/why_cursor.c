/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why/why_cursor.h"

#include <string.h>

int why_cursor_next(struct why_cursor *cursor, struct err *err)
{
	const void *next = &cursor->first;
	int result = 1;

	if (!cursor->first.until_ns)
		result = spool_next(&cursor->gaps, sizeof(cursor->gap), &next, err);
	if (result < 0)
		return result;
	cursor->is_over = result == 0;
	if (cursor->is_over)
		return 0;
	memcpy(&cursor->gap, next, sizeof(cursor->gap));
	cursor->first.until_ns = 0;
	cursor->since_ns = cursor->gap.since_ns;
	cursor->has_held = false;
	return 0;
}

int why_cursor_begin(struct why_cursor *cursor, const struct why_gaps *gaps, size_t gpu,
		     struct err *err)
{
	cursor->first = gaps->firsts[gpu];
	cursor->gaps.spool = &gaps->gpus[gpu];
	cursor->gaps.store = &gaps->store;
	return why_cursor_next(cursor, err);
}

void why_cursor_free(struct why_cursor *cursor)
{
	spool_reader_free(&cursor->gaps);
}
