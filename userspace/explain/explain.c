/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "explain/explain.h"

#include <errno.h>
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

static int make_with_gpu(struct explain *explain, struct err *err)
{
	int result = why_make(explain->view, NULL, NULL, &explain->why, err);

	if (result == 0 && explain_causes_add(explain))
		result = err_errno(err, -ENOMEM, "can't explain the capture");
	if (result == 0)
		result = explain_work_add(explain, err);
	if (result == 0 && explain_causes_settle(explain))
		result = err_errno(err, -ENOMEM, "can't explain the capture");
	return result;
}

static int make(struct explain *explain, const struct explain_style *style, struct err *err)
{
	static const u16 work[VIEW_ROW_KINDS_MAX] = {VIEW_GPU_WORK};
	int result = 0;

	explain->survey = view_survey(explain->view);
	explain->has_gpu = view_has_any(explain->view, work);
	explain->recorded_ns = 0;
	if (explain->has_gpu) {
		result = make_with_gpu(explain, err);
	} else {
		explain->recorded_ns =
			explain->survey->window_end_ns - explain->survey->window_start_ns;
		result = explain_host_add(explain, err);
	}
	if (result == 0)
		result = view_steps(explain->view, &explain->steps, err);
	return result < 0 || style->brief ? result : explain_slow_add(explain, err);
}

static void explain_free(struct explain *explain)
{
	for (size_t i = 0; i < EXPLAIN_FINDINGS; i++)
		explain_evidence_free(&explain->evidence[i]);
	explain_slow_free(&explain->slow);
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
	struct explain explain = {.view = view};
	int result = make(&explain, style, err);

	if (result == 0 &&
	    (style->format == EXPLAIN_JSON ? explain_append_json(&explain, text)
					   : explain_append_text(&explain, style, text)))
		result = err_errno(err, -ENOMEM, "can't explain the capture");
	explain_free(&explain);
	return result;
}
