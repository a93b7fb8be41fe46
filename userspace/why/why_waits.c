/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why/why_waits.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"

static const char *const words[WHY_WAITS] = {
#define WAIT(name, words) [WHY_WAIT_##name] = words,
#include "why/why_waits.def"
};

static const struct {
	enum why_wait wait;
	const char *word;
	bool of_device;
} named[] = {
#define WAIT_NAMED(name, word)	   {WHY_WAIT_##name, word, false},
#define WAIT_OF_DEVICE(name, word) {WHY_WAIT_##name, word, true},
#include "why/why_waits.def"
};

static const struct {
	enum why_wait wait;
	const char *word;
} served[] = {
#define WAIT_SERVED(name, word) {WHY_WAIT_##name, word},
#include "why/why_waits.def"
};

/* Sent by such a call. */
static const struct {
	enum why_wait wait;
	const char *word;
} of_readers[] = {
#define WAIT_OF_READER(name, word) {WHY_WAIT_##name, word},
#include "why/why_waits.def"
};

/* What is waited for. */
static const struct {
	enum why_wait wait;
	const char *word;
} at[] = {
#define WAIT_AT(name, word) {WHY_WAIT_##name, word},
#include "why/why_waits.def"
};

static const char *const timed[] = {
#define WAIT_TIMED(word) word,
#include "why/why_waits.def"
};

struct in_function {
	enum why_wait wait;
	const char *function;
};

static const struct in_function functions[] = {
#define WAIT_IN(name, function) {WHY_WAIT_##name, function},
#include "why/why_waits.def"
};

static const struct {
	enum why_wait wait;
	const char *file;
} sources[] = {
#define WAIT_IN_SOURCE(name, file) {WHY_WAIT_##name, file},
#include "why/why_waits.def"
};

static const struct in_function around[] = {
#define WAIT_AROUND(name, function) {WHY_WAIT_##name, function},
#include "why/why_waits.def"
};

static const struct in_function below[] = {
#define WAIT_BELOW(name, function) {WHY_WAIT_##name, function},
#include "why/why_waits.def"
};

#define WAIT_OF_OWNER(name) static const enum why_wait of_owner = WHY_WAIT_##name;
#include "why/why_waits.def"

const char *why_wait_words(enum why_wait wait)
{
	return words[wait];
}

static enum why_wait wait_of_source(const struct view_frame *frames, size_t count)
{
	size_t innermost = 0;

	while (innermost < count && !frames[innermost].python)
		innermost++;
	for (size_t i = 0; innermost < count && i < ARRAY_SIZE(sources); i++)
		if (!strcmp(path_base_name(frames[innermost].file), sources[i].file))
			return sources[i].wait;
	return WHY_WAIT_NONE;
}

/* What a stack says that has one of these functions anywhere. */
static enum why_wait wait_anywhere(const struct view_frame *frames, size_t count,
				   const struct in_function *rows, size_t row_count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < row_count; j++)
			if (!strcmp(frames[i].name, rows[j].function))
				return rows[j].wait;
	return WHY_WAIT_NONE;
}

static enum why_wait wait_of_frames(const struct view *view, u32 pid, u32 stack)
{
	const struct view_frame *frames;
	const char *cut;
	size_t count = view_frames(view, pid, stack, &frames, &cut);
	enum why_wait found = wait_anywhere(frames, count, around, ARRAY_SIZE(around));

	if (found == WHY_WAIT_NONE)
		found = wait_anywhere(frames, count, below, ARRAY_SIZE(below));
	if (found == WHY_WAIT_NONE)
		found = wait_of_source(frames, count);
	if (found != WHY_WAIT_NONE)
		return found;
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < ARRAY_SIZE(functions); j++)
			if (!strcmp(frames[i].name, functions[j].function))
				return functions[j].wait;
	return WHY_WAIT_NONE;
}

/* What waits for another program can be interrupted, but for a disk (O_SYNC, a full journal) it cannot, also where a thread of the kernel's sees to that. */
static bool woke_program(const struct record_off_cpu *wait)
{
	return wait->woken_by == VALUE_woken_by_thread &&
	       !(wait->waker && wait->reason == VALUE_off_cpu_reason_uninterruptible);
}

static bool begins_with(const char *string, const char *word)
{
	return !strncmp(string, word, strlen(word));
}

/* By one thing that is waited for. */
static enum why_wait wait_at_one(const char *object)
{
	for (size_t i = 0; i < ARRAY_SIZE(at); i++)
		if (begins_with(object, at[i].word))
			return at[i].wait;
	return WHY_WAIT_DEVICE;
}

/* By what is waited for: of several ("epoll of A, B, 2 more") by the first that is not of a device; NONE: that says nothing, or others are not named. */
static enum why_wait wait_at(const struct view *view, const struct record_off_cpu *wait)
{
	static const char *const sets[] = {"epoll of ", "any of "};
	const char *object = view_text(view, wait->waited);
	enum why_wait found = WHY_WAIT_NONE;

	for (size_t i = 0; object && i < ARRAY_SIZE(sets); i++)
		object += begins_with(object, sets[i]) ? strlen(sets[i]) : 0;
	while (object && *object) {
		const char *next = strstr(object, ", ");

		/* "2 more" */
		if (*object >= '1' && *object <= '9')
			return WHY_WAIT_NONE;
		found = wait_at_one(object);
		if (found != WHY_WAIT_DEVICE)
			return found;
		object = next ? next + strlen(", ") : NULL;
	}
	return found;
}

static bool is_of_reader(const struct view *view, const char *name,
			 const struct record_off_cpu *wait, enum why_wait *ret_wait)
{
	for (size_t i = 0; i < ARRAY_SIZE(of_readers); i++)
		if (!strncmp(name, of_readers[i].word, strlen(of_readers[i].word)) &&
		    wait_at(view, wait) == WHY_WAIT_NETWORK) {
			*ret_wait = of_readers[i].wait;
			return true;
		}
	return false;
}

/* What waits for a device, or for others, by its name: for which of them what is waited for says. */
static enum why_wait wait_of_device(const struct view *view, size_t row,
				    const struct record_off_cpu *wait)
{
	enum why_wait found = wait_at(view, wait);

	/* Who waits for others can be interrupted. */
	if (wait->reason == VALUE_off_cpu_reason_uninterruptible)
		return WHY_WAIT_DEVICE;
	return found == WHY_WAIT_NONE ? named[row].wait : found;
}

/* By its name, and what is waited for. */
static bool find_named(struct why_waits *waits, const struct view *view, const char *name,
		       const struct record_off_cpu *wait, enum why_wait *ret_wait)
{
	bool plain = true;

	if (waits->plain == name)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(named); i++) {
		if (strncmp(name, named[i].word, strlen(named[i].word)) != 0)
			continue;
		plain = false;
		if (named[i].of_device && woke_program(wait)) {
			if (is_of_reader(view, name, wait, ret_wait))
				return true;
			continue;
		}
		*ret_wait = named[i].of_device ? wait_of_device(view, i, wait) : named[i].wait;
		return true;
	}
	waits->plain = plain ? name : waits->plain;
	return false;
}

/* Is it told by the stack, whatever the wait is called? */
static bool is_below(enum why_wait wait)
{
	for (size_t i = 0; i < ARRAY_SIZE(below); i++)
		if (wait == below[i].wait)
			return true;
	return false;
}

/* Did what it waited for come from elsewhere: by an interrupt, or from another process? */
static bool is_from_outside(const struct record_off_cpu *wait, enum why_wait of_name)
{
	return wait->woken_by == VALUE_woken_by_thread
		       ? wait->waker_pid != wait->header.pid
		       : wait->woken_by == VALUE_woken_by_interrupt &&
				 (of_name == WHY_WAIT_DEVICE || of_name == WHY_WAIT_NETWORK);
}

int why_waits_find(struct why_waits *waits, const struct view *view, const struct view_event *event,
		   enum why_wait *ret_wait)
{
	const struct record_off_cpu *wait = (const void *)event->record;
	u32 pid = wait->header.pid, stack = wait->header.stack;
	enum why_wait found, of_name = WHY_WAIT_NONE;
	const u64 *known = map_find(&waits->known, pid, stack);
	bool is_named = find_named(waits, view, event->name, wait, &of_name);

	found = known ? (enum why_wait) * known : wait_of_frames(view, pid, stack);
	if (!known && map_set(&waits->known, pid, stack, found))
		return -ENOMEM;
	if (is_below(found) && is_from_outside(wait, of_name))
		found = WHY_WAIT_NONE;
	if (is_named && !is_below(found)) {
		*ret_wait = of_name;
		return 0;
	}
	if (found == WHY_WAIT_NONE)
		found = wait->holder_tid && wait->reason == VALUE_off_cpu_reason_sleeping
				? of_owner
				: WHY_WAIT_OTHER;
	*ret_wait = found;
	return 0;
}

bool why_waits_is_timed(const struct view_event *event)
{
	const struct record_off_cpu *wait = (const void *)event->record;

	for (size_t i = 0; wait->woken_by == VALUE_woken_by_timer && i < ARRAY_SIZE(timed); i++)
		if (!strncmp(event->name, timed[i], strlen(timed[i])))
			return true;
	return false;
}

/* Ranks wait for each other at such sockets, too. */
static bool has_rank(const struct view *view, u32 pid)
{
	const char *rank;
	unsigned count;
	char name[32];

	snprintf(name, sizeof(name), "rank of %u", pid);
	rank = view_attribute(view, "target", name);
	return rank && (sscanf(rank, "%*u of %u", &count) != 1 || count > 1);
}

static u32 known_or_0(u32 count)
{
	return count == ~0U ? 0 : count;
}

/* At all of them that are connections, and at one at least? */
static bool serves(const struct view *view, const struct record_waited_sockets *sockets)
{
	return (known_or_0(sockets->listening) || known_or_0(sockets->accepted)) &&
	       !sockets->connected && !sockets->unknown && !has_rank(view, sockets->header.pid);
}

/* By each text that says what is waited for. */
static int find_served(struct why_waits *waits, const struct view *view)
{
	size_t count;
	const struct record_header *const *facts = view_facts(view, KIND_waited_sockets, &count);

	waits->has_served = true;
	for (size_t i = 0; i < count; i++) {
		const struct record_waited_sockets *sockets =
			(const struct record_waited_sockets *)facts[i];

		if (sockets && map_set(&waits->served, sockets->header.name, sockets->header.pid,
				       serves(view, sockets)))
			return -ENOMEM;
	}
	return 0;
}

/* Is it at an end at which the process serves others? 1, 0 or -ENOMEM. */
static int is_served(struct why_waits *waits, const struct view *view,
		     const struct record_off_cpu *wait)
{
	const u64 *known;

	if (!wait->waited)
		return 0;
	if (!waits->has_served && find_served(waits, view))
		return -ENOMEM;
	known = map_find(&waits->served, wait->waited, wait->header.pid);
	return known && *known;
}

static bool is_of_others(const struct view *view, const char *name,
			 const struct record_off_cpu *wait)
{
	for (size_t i = 0; i < ARRAY_SIZE(named); i++)
		if (named[i].of_device && !strncmp(name, named[i].word, strlen(named[i].word)))
			return wait_of_device(view, i, wait) == WHY_WAIT_NETWORK;
	return false;
}

int why_waits_outside(struct why_waits *waits, const struct view *view,
		      const struct view_event *event, enum why_wait *ret_wait)
{
	const struct record_off_cpu *wait = (const void *)event->record;
	int result = is_served(waits, view, wait);

	for (size_t i = 0; result > 0 && i < ARRAY_SIZE(served); i++)
		if (!strncmp(event->name, served[i].word, strlen(served[i].word))) {
			*ret_wait = served[i].wait;
			return 0;
		}
	if (result >= 0 && *ret_wait == WHY_WAIT_OTHER && is_of_others(view, event->name, wait))
		*ret_wait = WHY_WAIT_NETWORK;
	return result < 0 ? result : 0;
}

void why_waits_free(struct why_waits *waits)
{
	map_free(&waits->known);
	map_free(&waits->served);
}
