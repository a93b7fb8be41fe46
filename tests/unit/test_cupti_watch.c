/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls of other users of CUPTI, before and after there is an agent to be told of them. */
#include "../../userspace/collect/agent/cupti_watch.c" /* in place of the library's */

#include "unit.h"

#define SUBSCRIBES 0
#define REGISTERS  2 /* rows of gpu/cupti/cupti_watched.def */
#define FINALIZES  10

static struct cupti_watch *watch_begin(void)
{
	struct cupti_watch *watch = calloc(1, sizeof(*watch));

	pthread_mutex_init(&watch->lock, NULL);
	watch->processes = calloc(PROCESSES_MAX, sizeof(*watch->processes));
	return watch;
}

static void watch_end(struct cupti_watch *watch)
{
	free(watch->processes);
	free(watch);
}

static void call(struct cupti_watch *watch, u32 pid, u32 function, u64 ts)
{
	struct cupti_call_event event = {.pid = pid, .function = function, .ts = ts};

	on_call(watch, &event, sizeof(event));
}

/* One that gets no agent calls on and on. */
TEST(calls_of_one_process_take_no_room_from_those_of_another)
{
	const struct target other = {.pid = 2};
	struct agent_control *control = calloc(1, sizeof(*control));
	struct cupti_watch *watch = watch_begin();

	note_process(watch, 1);
	note_process(watch, 2);
	for (u64 i = 0; i < 10000; i++)
		call(watch, 1, REGISTERS, 100 + i);
	call(watch, 2, FINALIZES, 20000);
	call(watch, 3, FINALIZES, 30000);
	cupti_watch_tell(watch, &other, control, 0);
	CHECK_U64(control->cupti_others.uses, CUPTI_USE_FINALIZES);
	CHECK_U64(control->cupti_others.lost_ns, 20000);
	CHECK_U64(control->bell, 1);
	watch_end(watch);
	free(control);
}

/* A profiler that was begun and ended a dozen times while the agent was put in, and then took CUPTI down. */
TEST(the_last_call_that_takes_cupti_has_room)
{
	const struct target target = {.pid = 1};
	struct agent_control *control = calloc(1, sizeof(*control));
	struct cupti_watch *watch = watch_begin();

	note_process(watch, 1);
	for (u64 i = 0; i < PENDING_MAX + 10; i++)
		call(watch, 1, SUBSCRIBES, 100 + i);
	call(watch, 1, FINALIZES, 20000);
	call(watch, 1, SUBSCRIBES, 30000);
	cupti_watch_tell(watch, &target, control, 0);
	CHECK_U64(control->cupti_others.uses, CUPTI_USE_SUBSCRIBES | CUPTI_USE_FINALIZES);
	CHECK_U64(control->cupti_others.lost_ns, 20000);
	watch_end(watch);
	free(control);
}

TEST(calls_are_told_once_and_in_order)
{
	const struct target target = {.pid = 1};
	struct agent_control *control = calloc(1, sizeof(*control));
	struct cupti_watch *watch = watch_begin();

	note_process(watch, 1);
	call(watch, 1, REGISTERS, 100);
	call(watch, 1, FINALIZES, 200);
	cupti_watch_tell(watch, &target, control, 10);
	call(watch, 1, FINALIZES, 300);
	cupti_watch_tell(watch, &target, control, 10);
	CHECK_U64(control->cupti_others.uses, CUPTI_USE_REGISTERS | CUPTI_USE_FINALIZES);
	CHECK_U64(control->cupti_others.first_ns, 90);
	CHECK_U64(control->cupti_others.last_ns, 290);
	CHECK_U64(control->bell, 3);
	watch_end(watch);
	free(control);
}

#define ENABLES 4

static void call_from(struct cupti_watch *watch, u64 caller, u32 function, u64 kind)
{
	struct cupti_call_event event = {
		.pid = 1, .function = function, .ts = 100, .caller = caller, .arguments = {kind}};

	on_call(watch, &event, sizeof(event));
}

/* cuptiActivityEnableAndDump calls cuptiActivityEnable: what we have switched on is not somebody else's for that. */
TEST(calls_of_cupti_itself_are_nobodys)
{
	const struct maps_line line = {.start = 0x1000, .end = 0x2000, .inode = 7};
	const struct target target = {.pid = 1};
	struct agent_control *control = calloc(1, sizeof(*control));
	struct cupti_watch *watch = watch_begin();

	CHECK(note_file(note_process(watch, 1), &line));
	CHECK(!note_file(note_process(watch, 1), &line));
	call_from(watch, 0x1fff, ENABLES, 8);
	cupti_watch_tell(watch, &target, control, 0);
	call_from(watch, 0x1000, ENABLES, 9);
	CHECK_U64(control->cupti_others.kinds, 0);
	CHECK_U64(control->cupti_others.uses, 0);
	call_from(watch, 0x2000, ENABLES, 10);
	CHECK_U64(control->cupti_others.kinds, 1 << 10);
	call_from(watch, 0x1000, FINALIZES, 0);
	CHECK_U64(control->cupti_others.uses, CUPTI_USE_ENABLES | CUPTI_USE_FINALIZES);
	watch_end(watch);
	free(control);
}

UNIT_MAIN()
