/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "view/view_parts.h"

/* A span that was given out and has not ended, with copies of all that its event points to. */
struct open_span {
	struct view_event event;
	struct view_cause cause;
	struct view_matmul matmul;
	u64 sequence;		/* of its start */
	struct open_span *next; /* of the spare ones */
	size_t record_bytes;	/* there is room for */
	u64 record[];		/* 8-byte aligned */
};

/* Of spans that end together the one that started last is the innermost. */
static bool ends_before(const struct open_span *a, const struct open_span *b)
{
	if (a->event.end != b->event.end)
		return a->event.end < b->event.end;
	return a->sequence > b->sequence;
}

/* Room for a record; NULL: no memory. */
static struct open_span *take_span(struct view_ends *ends, size_t record_bytes)
{
	struct open_span *span = ends->spare;

	if (span)
		ends->spare = span->next;
	if (span && span->record_bytes < record_bytes) {
		free(span);
		span = NULL;
	}
	if (span)
		return span;
	span = malloc(sizeof(*span) + record_bytes);
	if (span)
		span->record_bytes = record_bytes;
	return span;
}

static void give_back(struct view_ends *ends, struct open_span *span)
{
	span->next = ends->spare;
	ends->spare = span;
}

int view_ends_push(struct view_ends *ends, const struct view_event *event)
{
	size_t size = event->record->size_bytes, place = ends->count;
	struct open_span *span;

	if (array_reserve(&ends->heap, &ends->capacity, ends->count + 1) < 0)
		return -ENOMEM;
	span = take_span(ends, size);
	if (!span)
		return -ENOMEM;
	memcpy(span->record, event->record, size);
	span->event = *event;
	span->event.record = (const struct record_header *)span->record;
	if (event->cause) {
		span->cause = *event->cause;
		span->event.cause = &span->cause;
	}
	if (event->cause && event->cause->matmul) {
		span->matmul = *event->cause->matmul;
		span->cause.matmul = &span->matmul;
	}
	span->sequence = ends->sequence++;
	ends->count++;
	while (place && ends_before(span, ends->heap[(place - 1) / 2])) {
		ends->heap[place] = ends->heap[(place - 1) / 2];
		place = (place - 1) / 2;
	}
	ends->heap[place] = span;
	return 0;
}

static struct open_span *ends_pop(struct view_ends *ends)
{
	struct open_span *first = ends->heap[0], *moving = ends->heap[--ends->count];
	size_t place = 0;

	for (;;) {
		size_t child = 2 * place + 1;

		if (child >= ends->count)
			break;
		if (child + 1 < ends->count &&
		    ends_before(ends->heap[child + 1], ends->heap[child]))
			child++;
		if (!ends_before(ends->heap[child], moving))
			break;
		ends->heap[place] = ends->heap[child];
		place = child;
	}
	ends->heap[place] = moving;
	return first;
}

int view_ends_flush(struct view_ends *ends, u64 ts, const struct view_sink *sink, void *data,
		    struct err *err)
{
	while (ends->count && ends->heap[0]->event.end <= ts) {
		struct open_span *span = ends_pop(ends);
		int result = sink->end(data, &span->event, err);

		give_back(ends, span);
		if (result < 0)
			return result;
	}
	return 0;
}

void view_ends_free(struct view_ends *ends)
{
	for (size_t i = 0; i < ends->count; i++)
		free(ends->heap[i]);
	while (ends->spare) {
		struct open_span *next = ends->spare->next;

		free(ends->spare);
		ends->spare = next;
	}
	free(ends->heap);
	*ends = (struct view_ends){0};
}
