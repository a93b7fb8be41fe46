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

/* ---- what looks at the events, and in which run ---- */

static int why_begin(struct explain *explain, struct view_part *ret_part, struct err *err)
{
	int result = why_making_new(explain->view, !explain->brief, NULL, &explain->why,
				    &explain->why_making, err);

	if (result == 0)
		*ret_part = why_making_first(explain->why_making);
	return result;
}

static int why_go_on(struct explain *explain, struct view_part *ret_part, struct err *err)
{
	const struct why_slices *slices = explain_slow_slices(explain);

	if (slices)
		why_making_slice(explain->why_making, slices);
	return why_making_second(explain->why_making, ret_part, err);
}

static int why_end(struct explain *explain, struct err *err)
{
	int result = why_making_finish(explain->why_making, err);

	if (result < 0)
		return result;
	return explain_causes_add(explain) || explain_causes_settle(explain)
		       ? explain_no_memory(err)
		       : 0;
}

static int steps_begin(struct explain *explain, struct view_part *ret_part, struct err *err)
{
	return view_steps_search_begin(explain->view, ret_part, err);
}

static int steps_end(struct explain *explain, struct err *err)
{
	return view_steps_search_end(explain->view, &explain->steps, err);
}

static int steps_go_on(struct explain *explain, struct view_part *ret_part, struct err *err)
{
	(void)err;
	*ret_part = view_steps_work_part(explain->view);
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

/* What a part needs of others, these found in a run before. */
static const struct explain_part first_of_gpu[] = {
	{why_begin, NULL},
	{look_begin, look_end},
	{steps_begin, steps_end},
};

static const struct explain_part second_of_gpu[] = {
	{why_go_on, why_end},
	{steps_go_on, NULL},
	{explain_slow_begin, explain_slow_end},
};

static const struct explain_part only_of_host[] = {
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

static int make_with_gpu(struct explain *explain, struct err *err)
{
	int result = run(explain, first_of_gpu, ARRAY_SIZE(first_of_gpu), err);

	if (result == 0)
		result = explain_slow_choose(explain, err);
	return result < 0 ? result : run(explain, second_of_gpu, ARRAY_SIZE(second_of_gpu), err);
}

static int make(struct explain *explain, struct err *err)
{
	static const u16 work[VIEW_ROW_KINDS_MAX] = {VIEW_GPU_WORK};

	explain->survey = view_survey(explain->view);
	explain->has_gpu = view_has_any(explain->view, work);
	explain->look = explain->has_gpu ? &explain_work : &explain_host;
	explain->recorded_ns = 0;
	if (explain->has_gpu)
		return make_with_gpu(explain, err);
	explain->recorded_ns = explain->survey->window_end_ns - explain->survey->window_start_ns;
	return run(explain, only_of_host, ARRAY_SIZE(only_of_host), err);
}

static void explain_free(struct explain *explain)
{
	for (size_t i = 0; i < EXPLAIN_FINDINGS; i++)
		explain_evidence_free(&explain->evidence[i]);
	explain_slow_free(explain);
	look_free(explain);
	why_making_free(explain->why_making);
	for (size_t i = 0; i < COPY_SORTS; i++)
		explain_places_free(&explain->copies[i].names);
	explain_kernels_free(explain);
	explain_places_free(&explain->kernels);
	explain_places_free(&explain->code);
	why_free(&explain->why);
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
