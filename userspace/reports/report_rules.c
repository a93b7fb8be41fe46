/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reports/report_rules.h"

#include <string.h>

#define SMALL_COPY_BYTES 64000

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

/* Of the runtime API, whose names say whether a call waits. */
static bool is_called(const struct view_event *event, const char *call, bool async)
{
	const char *name = event->cause ? event->cause->name : "";

	return begins(name, call) && !strstr(name, "Async") == !async;
}

bool report_rule_memcpy_async(const struct view *view, const struct view_event *event)
{
	const struct record_copy *copy = (const struct record_copy *)event->record;

	return is_called(event, "cudaMemcpy", true) &&
	       (copy->from == VALUE_memory_kind_pageable || copy->to == VALUE_memory_kind_pageable);
}

bool report_rule_memcpy_sync(const struct view *view, const struct view_event *event)
{
	const struct record_copy *copy = (const struct record_copy *)event->record;

	if (copy->direction == VALUE_copy_direction_host_to_device &&
	    copy->bytes <= SMALL_COPY_BYTES)
		return false;
	if (copy->source_device && copy->source_device == copy->destination_device)
		return false;
	return is_called(event, "cudaMemcpy", false);
}

bool report_rule_memset_sync(const struct view *view, const struct view_event *event)
{
	const struct record_set *set = (const struct record_set *)event->record;

	return is_called(event, "cudaMemset", false) && (set->memory == VALUE_memory_kind_pinned ||
							 set->memory == VALUE_memory_kind_managed);
}

bool report_rule_api_sync(const struct view *view, const struct view_event *event)
{
	return begins(event->name, "cudaDeviceSynchronize") ||
	       begins(event->name, "cudaStreamSynchronize");
}
