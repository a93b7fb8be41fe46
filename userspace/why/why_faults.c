/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why/why_faults.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"

/* By which functions of the kernel threads come into it for one: x86, arm64. */
static const char *const entries[] = {"asm_exc_page_fault", "exc_page_fault", "do_page_fault",
				      "do_mem_abort"};

static bool has_entry(const struct view *view, u32 pid, u32 stack)
{
	const struct view_frame *frames;
	const char *cut;
	size_t count = view_frames(view, pid, stack, &frames, &cut);

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < ARRAY_SIZE(entries); j++)
			if (!strcmp(frames[i].name, entries[j]))
				return true;
	return false;
}

int why_faults_find(struct why_faults *faults, const struct view *view, u32 pid, u32 stack,
		    bool *ret_faults)
{
	const u64 *known = map_find(&faults->known, pid, stack);
	bool found = known ? *known : stack && has_entry(view, pid, stack);

	if (!known && map_set(&faults->known, pid, stack, found))
		return -ENOMEM;
	*ret_faults = found;
	return 0;
}

void why_faults_free(struct why_faults *faults)
{
	map_free(&faults->known);
}
