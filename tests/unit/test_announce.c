/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is said of the price of a recording: of one thing and of several, and where an estimate comes to more than there is. */
#include "unit.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "verbs/announce.h"

static int saved_stderr = -1, reading = -1;

static void begin(void)
{
	int ends[2];

	CHECK(pipe2(ends, O_CLOEXEC) == 0);
	fflush(stderr);
	saved_stderr = dup(STDERR_FILENO);
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	reading = ends[0];
	log_set_level(LOG_NORMAL);
}

static void check_said(const char *expected)
{
	char said[512] = "";
	ssize_t length;

	fflush(stderr);
	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	length = read(reading, said, sizeof(said) - 1);
	close(reading);
	said[length > 0 ? length : 0] = 0;
	CHECK_STRING(said, expected);
}

TEST(what_is_switched_off_is_one_or_several)
{
	begin();
	announce_switched_off("waits", true, 1300000000, 7.84);
	check_said("gpuprobe: waits are not recorded from 1.3 s on: they took about 7.8 % of the "
		   "targets' CPU time\n");
	begin();
	announce_switched_off("memory growth", false, 500000000, 20.06);
	check_said("gpuprobe: memory growth is not recorded from 0.5 s on: it took about 20.1 % of "
		   "the targets' CPU time\n");
}

TEST(an_estimate_of_more_than_there_was_is_said_to_be_one)
{
	const struct session_status status = {
		.recent_percent = 131.4, .dearest_percent = 70, .dearest_name = "waits"};

	begin();
	announce_switched_off("hot", false, 500000000, 112.34);
	check_said("gpuprobe: hot is not recorded from 0.5 s on: it took nearly all of the "
		   "targets' CPU time (112.3 % by an estimate)\n");
	begin();
	announce_sampled("stacks of launches", 1000, 500000000, 140);
	check_said("stacks of launches: from 0.5 s on about 1000 a second are taken, by chance: "
		   "all took nearly all of the targets' CPU time (140.0 % by an estimate)\n");
	begin();
	announce_price(&status);
	check_said("gpuprobe: recording takes nearly all of the targets' CPU time (131 % by an "
		   "estimate), waits most of it: 70 % (--max-overhead switches off what costs too "
		   "much, --count only counts calls)\n");
}

/* A program that sleeps: 282 % of next to nothing would sound like much. */
TEST(the_price_of_who_hardly_ran_is_said_of_one_cpu)
{
	const struct attachment attachment = {.target_count = 1};
	struct session_result result = {.end = SESSION_TIME_OVER,
					.status = {.elapsed_ns = 1000000000,
						   .event_count = 7,
						   .overhead_percent = 282.4,
						   .overhead_ns = 2824000,
						   .cpu_ns = 1000000,
						   .beside_percent = 450}};

	begin();
	announce_result(&attachment, &result);
	check_said("recorded 1.0 s: 7 events, nothing lost, about 0.28 % of one CPU (2.8 ms), "
		   "0.45 % of one CPU (4.5 ms) beside it (agent, CUPTI)\n");
	result.status.cpu_ns = 100000000;
	result.status.overhead_ns = 20500000;
	result.status.overhead_percent = 20.5;
	result.status.beside_percent = -1;
	begin();
	announce_result(&attachment, &result);
	check_said("recorded 1.0 s: 7 events, nothing lost, about 20.5 % of the target's CPU "
		   "time\n");
}

UNIT_MAIN()
