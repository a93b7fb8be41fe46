/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why/why_describe.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "steps/step_name.h"
#include "why/why_object.h"

#define LAUNCHES_KNOWN 8192

static const struct view *view_of(const struct why_describe *describe)
{
	return describe->code->view;
}

static const char *word(const struct why_describe *describe, s64 number)
{
	return describe->code->tally->why->whats.strings[number];
}

static s64 enter(struct why_describe *describe, const struct text *text)
{
	return text->failed ? -ENOMEM : why_what(describe->code->tally->why, text_string(text));
}

#define IN_CODE	  " in "
#define WOKEN_BY  ", woken by "
#define INTERRUPT "an interrupt"

static void append_holder(const struct view *view, const struct record_off_cpu *wait,
			  struct text *text)
{
	const char *name;

	if (!wait->holder_tid || wait->reason != VALUE_off_cpu_reason_sleeping)
		return;
	name = view_task_name(view, wait->header.pid, wait->holder_tid);
	text_appendf(text, ", at a lock that %s (%u) had", name ? name : "thread",
		     wait->holder_tid);
}

static void append_waker(const struct view *view, const struct record_off_cpu *wait,
			 struct text *text)
{
	const char *name = view_text(view, wait->waker);

	if (wait->woken_by == VALUE_woken_by_interrupt)
		text_append(text, WOKEN_BY INTERRUPT);
	if (wait->woken_by != VALUE_woken_by_thread)
		return;
	/* Of those that are not recorded the next one has another number, mostly. */
	if (name) {
		text_appendf(text, WOKEN_BY "%s", name);
		return;
	}
	name = view_task_name(view, wait->waker_pid, wait->waker_tid);
	text_appendf(text, WOKEN_BY "%s (%u)", name ? name : "thread", wait->waker_tid);
}

const char *why_describe_waker(const char *what)
{
	const char *waker = NULL;

	for (const char *next = what; (next = strstr(next, WOKEN_BY));)
		waker = next += strlen(WOKEN_BY);
	return waker;
}

bool why_describe_is_stranger(const char *waker)
{
	const char *number = strrchr(waker, '(');

	return strcmp(waker, INTERRUPT) != 0 &&
	       (!number || strspn(number + 1, "0123456789)") != strlen(number + 1));
}

static s64 make_wait(struct why_describe *describe, const struct record_off_cpu *wait,
		     u32 wait_name, enum why_describe_side side)
{
	_cleanup_text_ struct text text = {0};
	const char *object = view_text(view_of(describe), wait->waited);
	s64 code = why_code_call_of(describe->code, wait->header.pid, wait->header.stack);

	if (code < 0)
		return code;
	if (side == WHY_SIDE_TIMER && code != describe->code->unknown)
		object = NULL;
	text_append(&text, side == WHY_SIDE_WAITED ? "behind " : "");
	text_append(&text, word(describe, wait_name));
	if (object) {
		text_append(&text, " for ");
		why_object_append(object, &text);
	}
	if (code != describe->code->unknown)
		text_appendf(&text, IN_CODE "%s", word(describe, code));
	if (!wait->waited)
		append_holder(view_of(describe), wait, &text);
	append_waker(view_of(describe), wait, &text);
	/* Who only looked then has not waited for it. */
	text_append(&text, side == WHY_SIDE_TIMER ? WOKEN_BY "its own timer" : "");
	return enter(describe, &text);
}

/* Of all that its words are made of but waker, and object or lock. */
static s64 number_of_wait(struct why_describe *describe, const struct record_off_cpu *wait,
			  u32 wait_name, enum why_describe_side side)
{
	u64 where = (u64)wait->header.pid << 32 | wait->header.stack;
	u64 how = (u64)wait_name << 32 | (u64)wait->reason << 16 | (u64)wait->woken_by << 3 |
		  (u64)!wait->waited << 2 | side;
	const u64 *known = map_find(&describe->waits, where, how);
	u64 number = known ? *known : describe->waits.count;

	if (!known && map_set(&describe->waits, where, how, number))
		return -ENOMEM;
	return (s64)number;
}

/* Is its waker one and the same thread wherever its number and text are? Other processes of other hosts may have a number twice. */
static bool has_sure_waker(const struct record_off_cpu *wait)
{
	return wait->woken_by != VALUE_woken_by_thread || wait->waker ||
	       wait->waker_pid == wait->header.pid;
}

s64 why_describe_wait(struct why_describe *describe, const struct record_off_cpu *wait,
		      u32 wait_name, enum why_describe_side side)
{
	s64 number = number_of_wait(describe, wait, wait_name, side);
	/* What has an object has no owner, and the other way round. */
	u64 which = (u64)number << 32 | (wait->waited ?: wait->holder_tid);
	u64 waker = (u64)wait->waker << 32 | wait->waker_tid;
	const u64 *known = number < 0 ? NULL : map_find(&describe->known, which, waker);
	s64 what;

	if (known || number < 0)
		return known ? (s64)*known : number;
	what = make_wait(describe, wait, wait_name, side);
	if (what >= 0 && !has_sure_waker(wait))
		return what;
	if (what < 0 || map_set(&describe->known, which, waker, (u64)what))
		return -ENOMEM;
	return what;
}

static s64 make_call(struct why_describe *describe, u32 name, u32 pid, u32 stack)
{
	_cleanup_text_ struct text text = {0};
	s64 code = why_code_call_of(describe->code, pid, stack);

	if (code < 0 || code == describe->code->unknown)
		return code < 0 ? code : name;
	text_appendf(&text, "%s" IN_CODE "%s", word(describe, name), word(describe, code));
	return enter(describe, &text);
}

s64 why_describe_call(struct why_describe *describe, u32 name, u32 pid, u32 stack)
{
	u64 where = (u64)pid << 32 | stack;
	const u64 *known = stack ? map_find(&describe->calls, name, where) : NULL;
	s64 what;

	if (known || !stack)
		return known ? (s64)*known : name;
	what = make_call(describe, name, pid, stack);
	if (what < 0 || map_set(&describe->calls, name, where, (u64)what))
		return -ENOMEM;
	return what;
}

size_t why_describe_call_length(const char *what)
{
	const char *code = strstr(what, IN_CODE);

	return code ? (size_t)(code - what) : strlen(what);
}

s64 why_describe_preemption(struct why_describe *describe, const struct record_off_cpu *wait)
{
	_cleanup_text_ struct text text = {0};
	const struct view *view = view_of(describe);
	const char *name = view_text(view, wait->instead);

	if (!name && wait->instead_tid)
		name = view_task_name(view, wait->instead_pid, wait->instead_tid);
	if (name && wait->instead_pid == wait->header.pid)
		text_appendf(&text, "by %s, a thread of its own process", name);
	else if (name)
		text_appendf(&text, "by %s", name);
	return enter(describe, &text);
}

s64 why_describe_throttling(struct why_describe *describe, const struct record_off_cpu *wait)
{
	_cleanup_text_ struct text text = {0};
	s64 code = why_code_of(describe->code, wait->header.pid, wait->header.stack);

	if (code < 0)
		return code;
	if (code != describe->code->unknown)
		text_appendf(&text, "in %s", word(describe, code));
	return enter(describe, &text);
}

/* Of a thread without code of the program's own, for which another one waits: where that does. */
static bool append_waiter(const struct view *view, const struct why_gap *gap, u32 pid,
			  struct text *text)
{
	const struct view_cause cause = {
		.pid = pid,
		.name = "",
		.stack.stack = gap->stack,
		.within.waiter_stack = gap->waiter_stack,
	};
	struct view_launch_code code;

	if (!view_launch_code(view, &cause, NULL, &code) || !code.waits_here)
		return false;
	text_append(text, "before a launch for ");
	view_frame_append_call(&code.frame, text);
	text_append(text, " [waits here]");
	return true;
}

static s64 make_launch(struct why_describe *describe, const struct why_gap *gap, u32 pid)
{
	_cleanup_text_ struct text text = {0};
	const char *path = view_path_text(view_of(describe), gap->path);
	s64 code = why_code_call_of(describe->code, pid, gap->stack);

	if (code < 0)
		return code;
	if (append_waiter(view_of(describe), gap, pid, &text))
		return enter(describe, &text);
	if (code != describe->code->unknown)
		text_appendf(&text, "before a launch by %s", word(describe, code));
	else if (path) {
		text_append(&text, "before a launch in ");
		step_name_append_path(path, &text);
	}
	return enter(describe, &text);
}

s64 why_describe_launch(struct why_describe *describe, const struct why_gap *gap)
{
	u32 pid = view_survey(view_of(describe))->rows[gap->row].pid;
	u64 code = (u64)pid << 32 | gap->stack;
	u64 whose = (u64)gap->waiter_stack << 32 | gap->path;
	const u64 *known = map_find(&describe->launches, code, whose);
	s64 what;

	if (known)
		return (s64)*known;
	what = make_launch(describe, gap, pid);
	/* A range that begins within the gap has no name before. */
	if (what >= 0 && gap->path && !view_path(view_of(describe), gap->path))
		return what;
	/* Where each step has a path of its own those of long ago come no more; their words stay. */
	if (describe->launches.count >= LAUNCHES_KNOWN)
		map_free(&describe->launches);
	if (what < 0 || map_set(&describe->launches, code, whose, (u64)what))
		return -ENOMEM;
	return what;
}

void why_describe_free(struct why_describe *describe)
{
	map_free(&describe->launches);
	map_free(&describe->calls);
	map_free(&describe->waits);
	map_free(&describe->known);
}
