/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why/why_doings.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"

static const char *const words[WHY_DOINGS] = {
#define DOING(name, words) [WHY_DOING_##name] = words,
#include "why/why_doings.def"
};

static const struct {
	enum why_doing doing;
	const char *function, *file;
} functions[] = {
#define DOING_IN(name, function, file) {WHY_DOING_##name, function, file},
#include "why/why_doings.def"
};

const char *why_doing_words(enum why_doing doing)
{
	return words[doing];
}

enum why_doing why_doing_of_words(const char *what)
{
	for (enum why_doing i = WHY_DOING_ITSELF + 1; i < WHY_DOINGS; i++)
		if (!strncmp(what, words[i], strlen(words[i])))
			return i;
	return WHY_DOING_ITSELF;
}

static bool is_in(const struct view_frame *frame, const char *function, const char *file)
{
	size_t length = strlen(function);

	return !strncmp(frame->name, function, length) &&
	       (!frame->name[length] || frame->name[length] == '.') &&
	       !strncmp(frame->module, file, strlen(file)) && !frame->python;
}

static enum why_doing doing_of(const struct view *view, u32 pid, u32 stack)
{
	const struct view_frame *frames;
	const char *cut;
	size_t count = view_frames(view, pid, stack, &frames, &cut);

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < ARRAY_SIZE(functions); j++)
			if (is_in(&frames[i], functions[j].function, functions[j].file))
				return functions[j].doing;
	return WHY_DOING_ITSELF;
}

int why_doings_find(struct why_doings *doings, const struct view *view, u32 pid, u32 stack,
		    enum why_doing *ret_doing)
{
	const u64 *known = map_find(&doings->known, pid, stack);
	enum why_doing doing = WHY_DOING_ITSELF;

	if (known)
		doing = (enum why_doing) * known;
	else if (stack)
		doing = doing_of(view, pid, stack);
	if (!known && map_set(&doings->known, pid, stack, doing))
		return -ENOMEM;
	*ret_doing = doing;
	return 0;
}

static bool is_kernel(const struct view_frame *frame)
{
	return (s64)frame->address < 0;
}

bool why_doings_spot(const struct view *view, u32 pid, u32 stack, u64 *ret_address,
		     bool *ret_faults)
{
	const struct view_frame *frames;
	const char *cut;
	size_t count = stack ? view_frames(view, pid, stack, &frames, &cut) : 0, i = 0;

	*ret_faults = false;
	for (; i < count && is_kernel(&frames[i]); i++)
		for (size_t j = 0; j < ARRAY_SIZE(functions); j++)
			*ret_faults |= functions[j].doing == WHY_DOING_FAULTS &&
				       is_in(&frames[i], functions[j].function, functions[j].file);
	if (i == count || frames[i].python || (i && !*ret_faults))
		return false;
	*ret_address = frames[i].address;
	return true;
}

void why_doings_free(struct why_doings *doings)
{
	map_free(&doings->known);
}
