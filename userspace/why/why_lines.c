/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why/why_lines.h"

#include <errno.h>

#define ALL_LINES (~0ULL)

/* -ENOMEM. */
static s64 line_of(struct why_lines *lines, const struct view *view, u32 pid, u32 stack)
{
	const u64 *known = map_find(&lines->of_stacks, pid, stack);
	struct view_frame frame;
	u64 line = 0;

	if (known)
		return (s64)*known;
	if (view_own_frame(view, pid, stack, NULL, &frame) && frame.python && frame.function_line &&
	    frame.line >= frame.function_line + WHY_LINES_FAR)
		line = frame.line;
	return map_set(&lines->of_stacks, pid, stack, line) ? -ENOMEM : (s64)line;
}

static int count(struct map *samples, u64 what, u64 line)
{
	u64 *known = map_find(samples, what, line);

	if (known)
		++*known;
	return known ? 0 : map_set(samples, what, line, 1);
}

int why_lines_add(struct why_lines *lines, const struct view *view, u32 what, u32 pid, u32 stack)
{
	s64 line = line_of(lines, view, pid, stack);

	if (line < 0 || count(&lines->samples, what, ALL_LINES))
		return -ENOMEM;
	return line ? count(&lines->samples, what, (u64)line) : 0;
}

static bool is_hotter(u64 samples, u64 line, u64 than_samples, u64 than_line)
{
	return samples != than_samples ? samples > than_samples : line < than_line;
}

int why_lines_find(const struct why_lines *lines, struct map *ret_hottest)
{
	for (size_t i = 0; i < lines->samples.capacity; i++) {
		const struct map_slot *slot = &lines->samples.slots[i];
		const u64 *all, *known;

		if (!slot->used || slot->key_b == ALL_LINES)
			continue;
		known = map_find(ret_hottest, slot->key_a, 0);
		all = map_find(&lines->samples, slot->key_a, ALL_LINES);
		if (known &&
		    !is_hotter(slot->value, slot->key_b,
			       *map_find(&lines->samples, slot->key_a, *known >> 32), *known >> 32))
			continue;
		if (map_set(ret_hottest, slot->key_a, 0,
			    slot->key_b << 32 | (slot->value * 100 + *all / 2) / *all))
			return -ENOMEM;
	}
	return 0;
}

void why_lines_free(struct why_lines *lines)
{
	map_free(&lines->of_stacks);
	map_free(&lines->samples);
}
