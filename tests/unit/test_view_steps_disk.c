/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps where what threads launch can't be kept in a file. */
#include <signal.h>
#include <sys/resource.h>

#include "step_lines.h"

/* As if the disk were full: no file can be written to beyond its first page. */
static const struct view_steps *steps_on_full_disk(struct fixture *fixture)
{
	struct rlimit old, small;
	const struct view_steps *steps;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = 4096;
	setrlimit(RLIMIT_FSIZE, &small);
	steps = steps_of(fixture, NULL);
	setrlimit(RLIMIT_FSIZE, &old);
	signal(SIGXFSZ, SIG_DFL);
	return steps;
}

static void check_short(struct fixture *fixture, const struct view_steps *steps)
{
	const struct view_survey *survey = view_survey(fixture->view);
	u64 noted = 0;

	CHECK(steps->why_short && strstr(steps->why_short, "TMPDIR"));
	CHECK(view_steps_why_short(fixture->view) == steps->why_short);
	for (size_t i = 0; i < survey->loss_count; i++)
		if (survey->losses[i].reason == VALUE_loss_reason_steps_shortened) {
			noted += survey->losses[i].count;
			CHECK_STRING(survey->losses[i].place, steps->why_short);
		}
	CHECK_U64(noted, 1);
	CHECK(view_is_complete(survey));
}

TEST(on_a_full_disk_a_long_capture_has_its_steps_but_the_last)
{
	enum { STEPS = 5500 }; /* of 6 launches: more than memory keeps */
	struct lines lines = {.now_ns = 1000};

	for (unsigned i = 0; i < STEPS; i++)
		work(&lines, 1 + i % 2, 7);
	{
		struct fixture expected _fixture_ = fixture_open(text_string(&lines.text));
		struct fixture fixture _fixture_ = fixture_open(text_string(&lines.text));
		const struct view_steps *all = steps_of(&expected, NULL);
		const struct view_steps *steps = steps_on_full_disk(&fixture);

		check_tracks(all, "1:graph launch:2750 2:graph launch:2750");
		CHECK(!all->why_short && !view_steps_why_short(expected.view));
		check_tracks(steps, "1:graph launch:2749 2:graph launch:2749");
		for (unsigned i = 0; i < 2749; i++)
			CHECK_U64(steps->tracks[1].steps[i].start_ns,
				  all->tracks[1].steps[i].start_ns + 40);
		check_short(&fixture, steps);
	}
	text_free(&lines.text);
}

UNIT_MAIN()
