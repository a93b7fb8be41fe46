/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why/why_streams.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static struct why_stream *find(const struct why_streams *streams, u32 id)
{
	const u64 *place = map_find(&streams->places, id, 0);

	return place ? &streams->streams[*place] : NULL;
}

static struct why_stream *enter(struct why_streams *streams, u32 id)
{
	struct why_stream *known = find(streams, id);

	if (known)
		return known;
	if (array_reserve(&streams->streams, &streams->capacity, streams->count + 1) ||
	    map_set(&streams->places, id, 0, streams->count))
		return NULL;
	streams->streams[streams->count] = (struct why_stream){0};
	return &streams->streams[streams->count++];
}

int why_streams_add(struct why_streams *streams, const struct view *view,
		    const struct view_event *event)
{
	struct why_stream_wait wait = {.asked_ns = event->ts};
	const struct record_sync *sync = (const void *)event->record;
	struct why_stream *stream;

	if (sync->type != VALUE_sync_type_stream_wait_event)
		return 0;
	stream = enter(streams, sync->stream);
	if (!stream || array_reserve(&stream->waits, &stream->capacity, stream->count + 1))
		return -ENOMEM;
	wait.event = sync->event;
	view_event_recorded(view, event, &wait.stream, &wait.recorded);
	stream->waits[stream->count++] = wait;
	return 0;
}

int why_streams_add_work(struct why_streams *streams, const struct view *view,
			 const struct view_event *event)
{
	struct why_stream *stream = enter(streams, event->row->stream);

	if (!stream)
		return -ENOMEM;
	stream->works[stream->work_count++ % WHY_STREAM_WORKS] = (struct why_stream_work){
		.launched = view_unique_correlation(view, event),
		.name = event->name,
		.row = event->row,
	};
	return 0;
}

const struct why_stream_work *why_streams_awaited(const struct why_streams *streams,
						  const struct why_stream_wait *wait)
{
	const struct why_stream *stream = wait->recorded ? find(streams, wait->stream) : NULL;
	size_t count = stream ? stream->work_count : 0;

	/* Numbers of calls grow. */
	for (size_t back = 1; back <= count && back <= WHY_STREAM_WORKS; back++) {
		const struct why_stream_work *work =
			&stream->works[(count - back) % WHY_STREAM_WORKS];

		if (work->launched < wait->recorded)
			return work;
	}
	return NULL;
}

bool why_streams_take(struct why_streams *streams, u32 id, u64 launched_ns,
		      struct why_stream_wait *ret_wait)
{
	struct why_stream *stream = find(streams, id);
	size_t count = 0;

	while (stream && count < stream->count && stream->waits[count].asked_ns < launched_ns)
		count++;
	if (!count)
		return false;
	*ret_wait = stream->waits[count - 1];
	stream->count -= count;
	memmove(stream->waits, stream->waits + count, stream->count * sizeof(*stream->waits));
	return true;
}

void why_streams_free(struct why_streams *streams)
{
	for (size_t i = 0; i < streams->count; i++)
		free(streams->streams[i].waits);
	free(streams->streams);
	map_free(&streams->places);
}
