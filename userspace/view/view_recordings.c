/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which call recorded a CUDA event, for those who wait for it. An event is recorded again and again; a wait is for the
 * recording before it, and correlation ids grow from call to call.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "view/view_parts.h"

static int compare(const void *a, const void *b)
{
	const struct view_recording *left = a, *right = b;

#define ORDER_BY(member)                   \
	if (left->member != right->member) \
		return left->member < right->member ? -1 : 1;
	ORDER_BY(source)
	ORDER_BY(context)
	ORDER_BY(event)
	ORDER_BY(correlation)
#undef ORDER_BY
	return 0;
}

int view_recordings_add(struct view_recordings *recordings, const struct record_header *record)
{
	const struct record_gpu_event *event = (const struct record_gpu_event *)record;

	if (!event->correlation || recordings->count >= RECORDINGS_MAX)
		return 0;
	if (array_reserve(&recordings->items, &recordings->capacity, recordings->count + 1))
		return -ENOMEM;
	recordings->items[recordings->count++] =
		(struct view_recording){.source = record->source,
					.context = event->context,
					.event = event->event,
					.correlation = event->correlation,
					.stream = event->stream};
	return 0;
}

void view_recordings_finish(struct view_recordings *recordings)
{
	if (recordings->count)
		qsort(recordings->items, recordings->count, sizeof(*recordings->items), compare);
}

const struct view_recording *view_recordings_find(const struct view_recordings *recordings,
						  const struct record_sync *sync)
{
	const struct view_recording wanted = {.source = sync->header.source,
					      .context = sync->context,
					      .event = sync->event,
					      .correlation = sync->correlation};
	size_t low = 0, high = recordings->count;
	const struct view_recording *last;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(&recordings->items[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	last = &recordings->items[low - 1];
	return last->source == wanted.source && last->context == wanted.context &&
			       last->event == wanted.event
		       ? last
		       : NULL;
}

bool view_event_recorded(const struct view *view, const struct view_event *wait, u32 *ret_stream,
			 u64 *ret_correlation)
{
	const struct view_recording *recording =
		view_recordings_find(&view->recordings, (const struct record_sync *)wait->record);

	if (!recording)
		return false;
	*ret_stream = recording->stream;
	*ret_correlation =
		view_causes_upper_half(&view->causes, recording->source) | recording->correlation;
	return true;
}

void view_recordings_free(struct view_recordings *recordings)
{
	free(recordings->items);
}
