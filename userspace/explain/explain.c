/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "explain/explain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/nearest.h"
#include "explain/explain_parts.h"

static const char *const formats[] = {
	[EXPLAIN_TEXT] = "text",
	[EXPLAIN_MARKDOWN] = "md",
	[EXPLAIN_JSON] = "json",
};

int explain_format_find(const char *name, enum explain_format *ret_format, struct err *err)
{
	struct nearest nearest = {.word = name};

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (!strcmp(formats[i], name)) {
			*ret_format = i;
			return 0;
		}
		nearest_offer(&nearest, formats[i]);
	}
	return err_set(err, -EINVAL,
		       "unknown format \"%.100s\" of explain: there are text, md, json%s", name,
		       nearest_hint(&nearest, ""));
}

/* ---- what looks at the events ---- */

static int why_begin(struct explain *explain, struct view_part *ret_part, struct err *err)
{
	int result = why_making_new(explain->view, !explain->brief, NULL, &explain->why,
				    &explain->why_making, err);

	if (result == 0)
		*ret_part = why_making_part(explain->why_making);
	return result;
}

static int steps_begin(struct explain *explain, struct view_part *ret_part, struct err *err)
{
	return view_steps_search_begin(explain->view, ret_part, err);
}

static int steps_end(struct explain *explain, struct err *err)
{
	return view_steps_search_end(explain->view, &explain->steps, err);
}

static int keep_work(void *data, const struct view_event *event, struct err *err)
{
	(void)err;
	view_kept_add(data, event);
	return 0;
}

static int work_begin(struct explain *explain, struct view_part *ret_part, struct err *err)
{
	static const struct view_kept_kind kinds[] = {
		{KIND_kernel, false},	    {KIND_copy, true}, {KIND_set, false},
		{KIND_graph_launch, false}, {0, false},
	};
	static const struct view_sink sink = {.span = keep_work};

	explain->work = view_kept_new(explain->view, kinds);
	if (!explain->work)
		return explain_no_memory(err);
	*ret_part = (struct view_part){&sink, explain->work};
	return 0;
}

static int look_begin(struct explain *explain, struct view_part *ret_part, struct err *err)
{
	const struct explain_look *look = explain->look;

	explain->look_state = calloc(1, look->state_bytes);
	if (!explain->look_state || look->begin(explain, explain->look_state))
		return explain_no_memory(err);
	*ret_part = (struct view_part){look->sink, explain->look_state};
	return 0;
}

static int look_end(struct explain *explain, struct err *err)
{
	return explain->look->end(explain->look_state) ? explain_no_memory(err) : 0;
}

static void look_free(struct explain *explain)
{
	if (explain->look_state)
		explain->look->free(explain->look_state);
	free(explain->look_state);
}

static const struct explain_part of_gpu[] = {
	{why_begin, NULL},
	{look_begin, look_end},
	{steps_begin, steps_end},
	{work_begin, NULL},
};

static const struct explain_part of_host[] = {
	{look_begin, look_end},
	{steps_begin, steps_end},
};

static int run(struct explain *explain, const struct explain_part *parts, size_t count,
	       struct err *err)
{
	struct view_part looking[VIEW_PARTS_MAX] = {0};
	size_t looking_count = 0;
	int result = 0;

	for (size_t i = 0; i < count && result == 0; i++) {
		struct view_part *part = &looking[looking_count];

		result = parts[i].begin(explain, part, err);
		looking_count += result == 0 && part->sink;
	}
	if (result == 0)
		result = view_run_together(explain->view, looking, looking_count, err);
	for (size_t i = 0; i < count && result == 0; i++)
		if (parts[i].end)
			result = parts[i].end(explain, err);
	return result;
}

/* Of the run, to what needs to know of steps. */
static int give_work(struct explain *explain, struct err *err)
{
	struct view_part parts[2];
	size_t count = 0;

	parts[count] = view_steps_work_part(explain->view);
	count += parts[count].sink != NULL;
	parts[count] = explain_slow_work_part(explain);
	count += parts[count].sink != NULL;
	return view_kept_run(explain->work, parts, count, err);
}

static int tell_why(struct explain *explain, struct err *err)
{
	int result = why_making_finish(explain->why_making, explain_slow_slices(explain), err);

	if (result < 0)
		return result;
	return explain_causes_add(explain) || explain_causes_settle(explain)
		       ? explain_no_memory(err)
		       : 0;
}

static int make_with_gpu(struct explain *explain, struct err *err)
{
	int result = run(explain, of_gpu, ARRAY_SIZE(of_gpu), err);

	if (result == 0)
		result = explain_slow_choose(explain, err);
	if (result == 0)
		result = give_work(explain, err);
	if (result == 0)
		result = tell_why(explain, err);
	return result < 0 ? result : explain_slow_end(explain, err);
}

static int look(struct explain *explain, struct err *err)
{
	static const u16 work[VIEW_ROW_KINDS_MAX] = {VIEW_GPU_WORK};

	explain->has_gpu = view_has_any(explain->view, work);
	explain->look = explain->has_gpu ? &explain_work : &explain_host;
	explain->recorded_ns = 0;
	if (explain->has_gpu)
		return make_with_gpu(explain, err);
	explain->recorded_ns = explain->survey->window_end_ns - explain->survey->window_start_ns;
	return run(explain, of_host, ARRAY_SIZE(of_host), err);
}

static int make(struct explain *explain, struct err *err)
{
	int result;

	explain->survey = view_survey(explain->view);
	if (explain_whose_init(explain))
		return explain_no_memory(err);
	result = look(explain, err);
	if (result == 0 && explain_whose_tell(explain))
		result = explain_no_memory(err);
	return result;
}

static void explain_free(struct explain *explain)
{
	for (size_t i = 0; i < EXPLAIN_FINDINGS; i++)
		explain_evidence_free(&explain->evidence[i]);
	explain_slow_free(explain);
	look_free(explain);
	why_making_free(explain->why_making);
	view_kept_free(explain->work);
	for (size_t i = 0; i < COPY_SORTS; i++)
		explain_places_free(&explain->copies[i].names);
	explain_kernels_free(explain);
	explain_collectives_free(explain);
	explain_places_free(&explain->kernels);
	explain_places_free(&explain->code);
	explain_places_free(&explain->ranges);
	why_free(&explain->why);
	free(explain->is_shared);
}

int explain_append(struct view *view, const struct explain_style *style, struct text *text,
		   struct err *err)
{
	struct explain explain = {.view = view, .brief = style->brief};
	int result = make(&explain, err);

	if (result == 0 &&
	    (style->format == EXPLAIN_JSON ? explain_append_json(&explain, text)
					   : explain_append_text(&explain, style, text)))
		result = explain_no_memory(err);
	explain_free(&explain);
	return result;
}
