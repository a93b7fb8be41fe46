/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several sinks in one run: each has what it would have by itself. */
#include <errno.h>
#include <string.h>

#include "view/view.h"

struct hook {
	int (*function)(void *data, const struct view_event *event, struct err *err);
	void *data;
	const struct view_sink *sink;
};

struct hooks {
	struct hook hooks[VIEW_PARTS_MAX];
	size_t count;
};

struct together {
	const struct view_part *parts;
	size_t count;
	struct hooks span, end, point, counter, total;
};

static int give(const struct hooks *hooks, const struct view_event *event, struct err *err)
{
	int result = 0;

	for (size_t i = 0; i < hooks->count && result == 0; i++)
		result = hooks->hooks[i].function(hooks->hooks[i].data, event, err);
	return result;
}

static int give_span(void *data, const struct view_event *event, struct err *err)
{
	return give(&((struct together *)data)->span, event, err);
}

static int give_end(void *data, const struct view_event *event, struct err *err)
{
	const struct hooks *hooks = &((struct together *)data)->end;
	int result = 0;

	for (size_t i = 0; i < hooks->count && result == 0; i++) {
		const struct hook *hook = &hooks->hooks[i];

		if (!hook->sink->end_kinds[0] ||
		    view_row_is_of(hook->sink->end_kinds, event->kind->number))
			result = hook->function(hook->data, event, err);
	}
	return result;
}

static int give_point(void *data, const struct view_event *event, struct err *err)
{
	return give(&((struct together *)data)->point, event, err);
}

static int give_counter(void *data, const struct view_event *event, struct err *err)
{
	const struct hooks *hooks = &((struct together *)data)->counter;
	int result = 0;

	for (size_t i = 0; i < hooks->count && result == 0; i++)
		if (!event->computed || !hooks->hooks[i].sink->only_recorded)
			result = hooks->hooks[i].function(hooks->hooks[i].data, event, err);
	return result;
}

static int give_total(void *data, const struct view_event *event, struct err *err)
{
	return give(&((struct together *)data)->total, event, err);
}

static int open_all(void *data, const struct view *view, const struct view_survey *survey,
		    struct err *err)
{
	const struct together *together = data;
	int result = 0;

	for (size_t i = 0; i < together->count && result == 0; i++)
		if (together->parts[i].sink->open)
			result = together->parts[i].sink->open(together->parts[i].data, view,
							       survey, err);
	return result;
}

static int close_all(void *data, struct err *err)
{
	const struct together *together = data;
	int result = 0;

	for (size_t i = 0; i < together->count && result == 0; i++)
		if (together->parts[i].sink->close)
			result = together->parts[i].sink->close(together->parts[i].data, err);
	return result;
}

static void add_hook(struct hooks *hooks, struct hook hook)
{
	if (hook.function)
		hooks->hooks[hooks->count++] = hook;
}

/* Those of all sinks that want any; too many for that: all. */
static void join_end_kinds(const struct hooks *ends, struct view_sink *sink)
{
	size_t count = 0;

	for (size_t i = 0; i < ends->count; i++) {
		const u16 *kinds = ends->hooks[i].sink->end_kinds;

		for (unsigned n = 0; n < VIEW_ROW_KINDS_MAX && (kinds[n] || !n); n++) {
			if (kinds[n] && view_row_is_of(sink->end_kinds, kinds[n]))
				continue;
			if (!kinds[n] || count == VIEW_ROW_KINDS_MAX) {
				memset(sink->end_kinds, 0, sizeof(sink->end_kinds));
				return;
			}
			sink->end_kinds[count++] = kinds[n];
		}
	}
}

int view_run_together(struct view *view, const struct view_part *parts, size_t count,
		      struct err *err)
{
	struct together together = {.parts = parts, .count = count};
	struct view_sink sink = {.open = open_all, .close = close_all, .only_recorded = true};

	if (count > VIEW_PARTS_MAX)
		return err_set(err, -EINVAL, "can't read the capture for %zu at once", count);
	for (size_t i = 0; i < count; i++) {
		const struct view_sink *of = parts[i].sink;
		void *data = parts[i].data;

		add_hook(&together.span, (struct hook){of->span, data, of});
		add_hook(&together.end, (struct hook){of->end, data, of});
		add_hook(&together.point, (struct hook){of->point, data, of});
		add_hook(&together.counter, (struct hook){of->counter, data, of});
		add_hook(&together.total, (struct hook){of->total, data, of});
		sink.only_recorded &= of->only_recorded || !of->counter;
	}
	join_end_kinds(&together.end, &sink);
	sink.span = together.span.count ? give_span : NULL;
	sink.end = together.end.count ? give_end : NULL;
	sink.point = together.point.count ? give_point : NULL;
	sink.counter = together.counter.count ? give_counter : NULL;
	sink.total = together.total.count ? give_total : NULL;
	if (count == 1)
		return view_run(view, parts->sink, parts->data, err);
	return count ? view_run(view, &sink, &together, err) : 0;
}
