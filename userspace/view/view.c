/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/view.h"

#include <stdio.h>
#include <string.h>

#include "view/view_parts.h"

const struct view_survey *view_survey(const struct view *view)
{
	return &view->survey;
}

void view_time_range(const struct view_survey *survey, u64 *ret_start_ns, u64 *ret_end_ns)
{
	*ret_start_ns = survey->window_start_ns;
	*ret_end_ns = survey->window_end_ns;
	if (survey->event_count && survey->first_ns < *ret_start_ns)
		*ret_start_ns = survey->first_ns;
	if (survey->event_count && survey->last_ns > *ret_end_ns)
		*ret_end_ns = survey->last_ns;
}

const char *view_attribute(const struct view *view, const char *group, const char *key)
{
	for (size_t i = 0; i < view->survey.attribute_count; i++) {
		const struct view_attribute *attribute = &view->survey.attributes[i];

		if (!strcmp(attribute->group, group) && !strcmp(attribute->key, key))
			return attribute->value;
	}
	return NULL;
}

u32 view_cuda_driver_version(const struct view *view, u32 pid)
{
	const struct view_survey *survey = view_survey(view);
	unsigned major, minor, of;

	for (size_t i = 0; i < survey->attribute_count; i++) {
		const struct view_attribute *attribute = &survey->attributes[i];

		if (!strcmp(attribute->group, "gpu") &&
		    sscanf(attribute->key, "CUDA version of the driver of %10u", &of) == 1 &&
		    (!pid || of == pid) &&
		    sscanf(attribute->value, "%3u.%2u", &major, &minor) == 2 && major)
			return major * 1000 + minor * 10;
	}
	return 0;
}

u64 view_kind_count(const struct view *view, u16 kind)
{
	return kind < view->kinds.count ? view->kinds.kinds[kind].event_count : 0;
}

/* ---- facts ---- */

const char *view_text(const struct view *view, u32 id)
{
	return capture_text(view->reader, id);
}

const struct record_header *const *view_facts(const struct view *view, u16 kind, size_t *ret_count)
{
	return capture_facts(view->reader, kind, ret_count);
}

const struct record_header *view_fact(const struct view *view, u16 kind, u32 id)
{
	size_t count;
	const struct record_header *const *facts = view_facts(view, kind, &count);

	return id && id <= count ? facts[id - 1] : NULL;
}

size_t view_stack(const struct view *view, u32 id, const u64 **ret_addresses)
{
	return capture_stack(view->reader, id, ret_addresses);
}

bool view_field_absent(const struct schema_field *field, const struct record_header *record)
{
	if (field->unit == UNIT_ID || field->unit == UNIT_TEXT || field->unit == UNIT_STACK)
		return schema_field_value(field, record, 0) == 0;
	return schema_field_absent(field, record);
}
