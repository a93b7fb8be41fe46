/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often explain goes over the events, and that causes by groups are those of all times, cut up. */
#include "unit.h"

#include "explain/explain.h"
#include "golden_views.h"
#include "view/view_parts.h"
#include "why/why.h"

#define PIECES 7

/* ---- runs ---- */

/* Where a step may begin with a range or a call around it, the search takes one run more. */
static size_t check_runs(struct view *view, const char *path)
{
	const struct explain_style styles[] = {{0}, {.brief = true}};
	size_t count = 0;
	struct err err = {0};

	for (size_t i = 0; i < 2; i++) {
		u64 before = view->run_count, runs;
		struct text text = {0};

		CHECK_OK(explain_append(view, &styles[i], &text, &err), err);
		runs = view->run_count - before;
		/* The second time steps are known. */
		if (runs > 1 + !i)
			UNIT_FAIL("%s: %llu runs", path, (unsigned long long)runs);
		count += runs == 1 && !i;
		text_free(&text);
	}
	return count;
}

TEST(the_events_are_gone_over_once)
{
	CHECK(golden_views_check_all(check_runs) > 50);
}

/* ---- groups ---- */

static bool is_alike(const struct why_cause *left, const struct why_cause *right)
{
	return left->gpu == right->gpu && left->sort == right->sort && left->what == right->what &&
	       left->row_index == right->row_index && left->waiter == right->waiter &&
	       left->wait == right->wait && left->held == right->held &&
	       left->is_long == right->is_long;
}

/* As explain does, whose slices are known behind the run. */
static void make_sliced(struct view *view, const struct why_slices *slices, struct why *ret_why)
{
	struct why_making *making = NULL;
	struct view_part part;
	struct err err = {0};

	CHECK_OK(why_making_new(view, true, NULL, ret_why, &making, &err), err);
	part = why_making_part(making);
	CHECK_OK(view_run(view, part.sink, part.data, &err), err);
	CHECK_OK(why_making_finish(making, slices, &err), err);
	why_making_free(making);
}

/* What it has in all groups. */
static u64 sum_of(const struct why *why, const struct why_cause *cause)
{
	u64 ns = 0;

	for (size_t i = 0; i < why->grouped_count; i++)
		if (is_alike(&why->grouped[i], cause))
			ns += why->grouped[i].ns;
	return ns;
}

/* All of the window is in some group. Of code that was sampled each group has its own samples. */
static size_t check_pieces(struct view *view, const char *path)
{
	const struct view_survey *survey = view_survey(view);
	u64 start_ns = survey->window_start_ns, ns = survey->window_end_ns - start_ns;
	struct why_slice items[PIECES];
	const struct why_slices slices = {items, PIECES};
	struct why why;
	u64 idle_ns = 0, grouped_ns = 0;
	size_t count;

	if (!has_gpu_work(view))
		return 0;
	for (u64 i = 0; i < PIECES; i++)
		items[i] = (struct why_slice){start_ns + ns * i / PIECES,
					      start_ns + ns * (i + 1) / PIECES, 1 + i % 2};
	make_sliced(view, &slices, &why);
	for (size_t i = 0; i < why.count; i++) {
		const struct why_cause *cause = &why.causes[i];

		CHECK(!cause->group);
		idle_ns += cause->ns;
		if (cause->sort != WHY_CODE && cause->sort != WHY_UNSAMPLED &&
		    sum_of(&why, cause) != cause->ns)
			UNIT_FAIL("%s: %s: %llu of %llu", path, cause->what,
				  (unsigned long long)sum_of(&why, cause),
				  (unsigned long long)cause->ns);
	}
	for (size_t i = 0; i < why.grouped_count; i++)
		grouped_ns += why.grouped[i].ns;
	CHECK_U64(grouped_ns, idle_ns);
	for (size_t i = 0; i < why.gpu_count; i++)
		CHECK_U64(why.gpus[i].group_busy_ns[1] + why.gpus[i].group_busy_ns[2],
			  why.gpus[i].busy_ns);
	count = why.grouped_count > why.count;
	why_free(&why);
	return count;
}

TEST(groups_add_up)
{
	CHECK(golden_views_check_all(check_pieces) > 15);
}

/* One group of all times has what all times have, without slices too. */
static size_t check_whole(struct view *view, const char *path)
{
	const struct view_survey *survey = view_survey(view);
	const struct why_slice all = {survey->window_start_ns, survey->window_end_ns, 2};
	const struct why_slices slices = {&all, 1};
	struct why why, without;
	struct err err = {0};
	size_t count;

	if (!has_gpu_work(view))
		return 0;
	make_sliced(view, &slices, &why);
	CHECK_OK(why_make(view, NULL, &without, &err), err);
	CHECK_U64(why.grouped_count, why.count);
	CHECK_U64(without.count, why.count);
	CHECK_U64(without.grouped_count, 0);
	for (size_t i = 0; i < why.count; i++) {
		CHECK(is_alike(&why.causes[i], &why.grouped[i]));
		CHECK_U64(why.grouped[i].group, 2);
		CHECK_U64(why.grouped[i].ns, why.causes[i].ns);
		CHECK_U64(why.grouped[i].gaps, why.causes[i].gaps);
		CHECK_STRING(without.causes[i].what, why.causes[i].what);
		CHECK_U64(without.causes[i].ns, why.causes[i].ns);
		CHECK_U64(without.causes[i].gaps, why.causes[i].gaps);
	}
	for (size_t i = 0; i < why.gpu_count; i++)
		CHECK_U64(why.gpus[i].group_busy_ns[2], why.gpus[i].busy_ns);
	count = why.count > 1;
	why_free(&why);
	why_free(&without);
	return count;
}

TEST(one_group_has_what_all_times_have)
{
	CHECK(golden_views_check_all(check_whole) > 15);
}

UNIT_MAIN()
