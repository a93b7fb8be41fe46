/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports that share runs over the events: who runs, is filled and is freed when. */
#include "capture_fixture.h"

#include <errno.h>
#include <stdlib.h>

#include "reports/report_runs.h"

/* A report that needs some runs, and notes what becomes of it. */
struct noting {
	const struct report_request *request;
	int runs_left;
};

struct noting_request {
	struct report_request request;
	int runs;
	bool fails; /* its first run */
	struct text *notes;
};

static const struct noting_request *request_of(void *data)
{
	return (const struct noting_request *)((struct noting *)data)->request;
}

static void note(void *data, const char *what)
{
	text_appendf(request_of(data)->notes, "%s %s, ", what,
		     request_of(data)->request.report->name);
}

static int noting_open(void *data, const struct view *view, const struct view_survey *survey,
		       struct err *err)
{
	note(data, "open");
	return request_of(data)->fails ? err_set(err, -ENOSPC, "it fails") : 0;
}

static int noting_close(void *data, struct err *err)
{
	note(data, "close");
	return 0;
}

static const struct view_sink noting_sink = {.open = noting_open, .close = noting_close};

static int noting_then(struct report_run *run, struct err *err)
{
	struct noting *noting = run->data;

	if (--noting->runs_left > 0)
		run->part = (struct view_part){&noting_sink, noting};
	return 0;
}

static int noting_fill(void *data, struct report_table *table, struct err *err)
{
	note(data, "fill");
	return 0;
}

static void noting_free(void *data)
{
	note(data, "free");
	free(data);
}

static int noting_begin(struct view *view, const struct report_request *request,
			struct report_table *table, struct report_run *ret_run, struct err *err)
{
	struct noting *noting = calloc(1, sizeof(*noting));

	noting->request = request;
	noting->runs_left = request_of(noting)->runs;
	*ret_run = (struct report_run){
		.data = noting, .then = noting_then, .fill = noting_fill, .free = noting_free};
	if (noting->runs_left)
		ret_run->part = (struct view_part){&noting_sink, noting};
	return 0;
}

static int noting_make(struct view *view, const struct report_request *request,
		       struct report_table *table, struct err *err)
{
	text_appendf(((const struct noting_request *)request)->notes, "make %s, ",
		     request->report->name);
	return 0;
}

static const struct report alone = {.name = "alone", .make = noting_make};
static const struct report none = {.name = "none", .begin = noting_begin};
static const struct report one = {.name = "one", .begin = noting_begin};
static const struct report two = {.name = "two", .begin = noting_begin};

/* Of four reports; what became of them. */
static int make(bool one_fails, struct text *notes, struct err *err)
{
	struct fixture fixture _fixture_ =
		fixture_open("{\"kind\":\"window\",\"ts\":1000,\"dur\":1000}\n");
	const struct noting_request requests[] = {
		{{.report = &alone}, 0, false, notes},
		{{.report = &two}, 2, false, notes},
		{{.report = &none}, 0, false, notes},
		{{.report = &one}, 1, one_fails, notes},
	};
	struct report_table tables[ARRAY_SIZE(requests)] = {0};
	struct report_wanted wanted[ARRAY_SIZE(requests)];

	for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
		wanted[i] = (struct report_wanted){&requests[i].request, &tables[i]};
	return report_runs_all(fixture.view, wanted, ARRAY_SIZE(requests), err);
}

TEST(each_run_is_shared_and_ends_in_tables)
{
	_cleanup_text_ struct text notes = {0};
	struct err err = {0};

	CHECK_OK(make(false, &notes, &err), err);
	CHECK_STRING(text_string(&notes), "fill none, free none, "
					  "open two, open one, close two, close one, "
					  "fill one, free one, "
					  "open two, close two, "
					  "fill two, free two, "
					  "make alone, ");
}

TEST(a_run_that_fails_ends_all)
{
	_cleanup_text_ struct text notes = {0};
	struct err err = {0};

	CHECK(make(true, &notes, &err) == -ENOSPC);
	CHECK_STRING(err.message, "it fails");
	CHECK_STRING(text_string(&notes), "fill none, free none, open two, open one, "
					  "free two, free one, ");
}

UNIT_MAIN()
