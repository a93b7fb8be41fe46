/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why/why_waits.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"

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

static const struct in_function around[] = {
#define WAIT_AROUND(name, function) {WHY_WAIT_##name, function},
#include "why/why_waits.def"
};

#define WAIT_OF_OWNER(name) static const enum why_wait of_owner = WHY_WAIT_##name;
#include "why/why_waits.def"

const char *why_wait_words(enum why_wait wait)
{
	return words[wait];
}

static enum why_wait wait_of_frames(const struct view *view, u32 pid, u32 stack)
{
	const struct view_frame *frames;
	const char *cut;
	size_t count = view_frames(view, pid, stack, &frames, &cut);

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < ARRAY_SIZE(around); j++)
			if (!strcmp(frames[i].name, around[j].function))
				return around[j].wait;
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

/* By its name alone. */
static bool find_named(struct why_waits *waits, const char *name, const struct record_off_cpu *wait,
		       enum why_wait *ret_wait)
{
	bool plain = true;

	if (waits->plain == name)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(named); i++) {
		if (strncmp(name, named[i].word, strlen(named[i].word)) != 0)
			continue;
		plain = false;
		if (named[i].of_device && woke_program(wait))
			continue;
		*ret_wait = named[i].wait;
		return true;
	}
	waits->plain = plain ? name : waits->plain;
	return false;
}

int why_waits_find(struct why_waits *waits, const struct view *view, const struct view_event *event,
		   enum why_wait *ret_wait)
{
	const struct record_off_cpu *wait = (const void *)event->record;
	u32 pid = wait->header.pid, stack = wait->header.stack;
	enum why_wait found;
	const u64 *known;

	if (find_named(waits, event->name, wait, ret_wait))
		return 0;
	known = map_find(&waits->known, pid, stack);
	found = known ? (enum why_wait) * known : wait_of_frames(view, pid, stack);
	if (!known && map_set(&waits->known, pid, stack, found))
		return -ENOMEM;
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

int why_waits_served(struct why_waits *waits, const struct view *view,
		     const struct view_event *event, enum why_wait *ret_wait)
{
	const struct record_off_cpu *wait = (const void *)event->record;
	const u64 *is_served;

	if (!wait->waited)
		return 0;
	if (!waits->has_served && find_served(waits, view))
		return -ENOMEM;
	is_served = map_find(&waits->served, wait->waited, wait->header.pid);
	if (!is_served || !*is_served)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(served); i++)
		if (!strncmp(event->name, served[i].word, strlen(served[i].word))) {
			*ret_wait = served[i].wait;
			return 1;
		}
	return 0;
}

void why_waits_free(struct why_waits *waits)
{
	map_free(&waits->known);
	map_free(&waits->served);
}
