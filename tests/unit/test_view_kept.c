/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events that were kept are those of a run: the same ones, with the same words, in the same order, and with the same paths there. */
#include <signal.h>
#include <sys/resource.h>

#include "unit.h"

#include "golden_views.h"
#include "view/view_kept.h"
#include "view/view_parts.h"

static const struct view_kept_kind kinds[] = {
	{KIND_api, false}, {KIND_off_cpu, true},      {KIND_sample, false}, {KIND_kernel, false},
	{KIND_copy, true}, {KIND_graph_launch, true}, {0, false},
};

struct seen {
	const struct view *view;
	struct text text;
	size_t count;
	bool closed;
};

static int see_open(void *data, const struct view *view, const struct view_survey *survey,
		    struct err *err)
{
	struct seen *seen = data;

	(void)survey;
	(void)err;
	seen->view = view;
	return 0;
}

static const struct view_kept_kind *kind_of(const struct view_event *event)
{
	const struct view_kept_kind *kind = kinds;

	while (kind->kind && kind->kind != event->kind->number)
		kind++;
	return kind->kind ? kind : NULL;
}

static void see_record(struct text *text, const struct view_event *event)
{
	size_t size = kind_of(event)->whole ? event->record->size_bytes : sizeof(*event->record);

	/* The size is that of what is there. */
	for (size_t i = sizeof(event->record->size_bytes); i < size; i++)
		text_appendf(text, "%02x", ((const u8 *)event->record)[i]);
}

static void see(struct seen *seen, const char *how, const struct view_event *event)
{
	const struct view_cause *cause = event->cause;
	struct text *text = &seen->text;

	if (!kind_of(event))
		return;
	seen->count++;
	text_appendf(text, "%s %s %s %llu+%llu=%llu %d row %zu of %u stack %u %u paths %zu ", how,
		     event->kind->tag, event->name, (unsigned long long)event->ts,
		     (unsigned long long)event->dur, (unsigned long long)event->end, event->open,
		     event->row_index, event->row->tid, event->stack.stack, event->stack.launches,
		     seen->view->paths.count);
	if (cause)
		text_appendf(text, "cause %llu %zu %zu ", (unsigned long long)cause->ts,
			     cause->row_index, cause->within.row_index);
	see_record(text, event);
	text_append(text, "\n");
}

static int see_span(void *data, const struct view_event *event, struct err *err)
{
	(void)err;
	see(data, "span", event);
	return 0;
}

static int see_end(void *data, const struct view_event *event, struct err *err)
{
	(void)err;
	see(data, "end", event);
	return 0;
}

static int see_point(void *data, const struct view_event *event, struct err *err)
{
	(void)err;
	see(data, "point", event);
	return 0;
}

static int see_close(void *data, struct err *err)
{
	(void)err;
	((struct seen *)data)->closed = true;
	return 0;
}

static const struct view_sink see_all = {.open = see_open,
					 .span = see_span,
					 .end = see_end,
					 .point = see_point,
					 .close = see_close,
					 .end_kinds = {KIND_api, KIND_off_cpu, KIND_kernel}};

static int keep(void *data, const struct view_event *event, struct err *err)
{
	(void)err;
	view_kept_add(data, event);
	return 0;
}

static const struct view_sink keep_all = {
	.span = keep, .point = keep, .counter = keep, .total = keep, .only_recorded = true};

static void check_alike(struct seen *seen, struct seen *wanted, const char *path)
{
	CHECK(seen->closed && wanted->closed);
	if (strcmp(text_string(&seen->text), text_string(&wanted->text)) != 0)
		UNIT_FAIL("%s: was\n%s, not\n%s", path, text_string(&seen->text),
			  text_string(&wanted->text));
	text_free(&seen->text);
	text_free(&wanted->text);
}

static size_t check_kept(struct view *view, const char *path)
{
	struct view_kept *kept = view_kept_new(view, kinds);
	struct seen seen = {0}, wanted = {0};
	struct err err = {0};
	size_t paths;
	u64 runs;

	CHECK_OK(view_run(view, &see_all, &wanted, &err), err);
	CHECK_OK(view_run(view, &keep_all, kept, &err), err);
	runs = view->run_count;
	paths = view->paths.count;
	CHECK_OK(view_kept_run(kept, &see_all, &seen, &err), err);
	CHECK_U64(view->run_count, runs);
	CHECK_U64(view->paths.count, paths);
	view_kept_free(kept);
	check_alike(&seen, &wanted, path);
	return wanted.count;
}

TEST(what_was_kept_is_what_a_run_gives)
{
	CHECK(golden_views_check_all(check_kept) > 1000);
}

/* Of what is too much for memory, without room for it. */
static size_t check_not_kept(struct view *view, const char *path)
{
	struct view_kept *kept = view_kept_new(view, kinds);
	struct seen seen = {0}, wanted = {0};
	const struct rlimit none = {0, RLIM_INFINITY};
	struct rlimit before;
	struct err err = {0};
	u64 runs;

	CHECK_OK(view_run(view, &see_all, &wanted, &err), err);
	CHECK(!getrlimit(RLIMIT_FSIZE, &before) && !setrlimit(RLIMIT_FSIZE, &none));
	for (size_t kept_bytes = 0; wanted.count && kept_bytes < 1 << 20;
	     kept_bytes += wanted.count * 40)
		CHECK_OK(view_run(view, &keep_all, kept, &err), err);
	CHECK(!setrlimit(RLIMIT_FSIZE, &before));
	runs = view->run_count;
	CHECK_OK(view_kept_run(kept, &see_all, &seen, &err), err);
	CHECK_U64(view->run_count - runs, wanted.count ? 1 : 0);
	view_kept_free(kept);
	check_alike(&seen, &wanted, path);
	return wanted.count > 0;
}

TEST(what_can_not_be_kept_is_given_by_a_run)
{
	signal(SIGXFSZ, SIG_IGN);
	CHECK(golden_views_check_all(check_not_kept) > 20);
	signal(SIGXFSZ, SIG_DFL);
}

UNIT_MAIN()
