/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why/why_streams.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static struct why_stream *find(struct why_streams *streams, u32 id)
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

int why_streams_add(struct why_streams *streams, const struct view_event *event)
{
	const struct record_sync *sync = (const void *)event->record;
	struct why_stream *stream;

	if (sync->type != VALUE_sync_type_stream_wait_event)
		return 0;
	stream = enter(streams, sync->stream);
	if (!stream || array_reserve(&stream->waits, &stream->capacity, stream->count + 1))
		return -ENOMEM;
	stream->waits[stream->count++] =
		(struct why_stream_wait){.asked_ns = event->ts, .event = sync->event};
	return 0;
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
