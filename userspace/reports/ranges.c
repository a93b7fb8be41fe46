/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reports/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Their places, by the time when they began. */
struct range_thread {
	u32 *places;
	size_t count, capacity;
};

static bool is_range_of_thread(const struct view_event *event)
{
	return event->kind->number == KIND_range || event->kind->number == KIND_usdt_span;
}

/* What nsys has a row for in its table of events of NVTX. */
static bool is_nvtx(const struct view *view, const struct view_event *event)
{
	switch (event->kind->number) {
	case KIND_range:
	case KIND_process_range:
	case KIND_usdt_span:
	case KIND_mark:
		return true;
	default:
		return view_annotation(view, event) == VALUE_usdt_annotation_mark;
	}
}

static const struct range *range_at(const struct ranges *ranges, const struct range_thread *thread,
				    size_t position)
{
	return &ranges->items[thread->places[position - 1]];
}

/* Fills what is around it: positions count from 1, those in between two with falling ends are jumped over. */
static void find_parent(const struct ranges *ranges, const struct range_thread *thread,
			struct range *range)
{
	u64 tightest = UINT64_MAX;

	for (size_t position = thread->count; position;) {
		const struct range *other = range_at(ranges, thread, position);

		/* What began so early is not tighter, whenever it ends. */
		if (tightest != UINT64_MAX && range->end - other->ts >= tightest) {
			range->previous = range->previous ?: position;
			return;
		}
		if (other->end > range->end && !range->previous)
			range->previous = position;
		if (other->end < range->end) {
			position = other->previous;
			continue;
		}
		if (other->end - other->ts < tightest) {
			tightest = other->end - other->ts;
			range->parent = thread->places[position - 1];
			range->level = other->level + 1;
		}
		position--;
	}
}

static int find_thread(struct ranges *ranges, u32 row, struct range_thread **ret_thread)
{
	if (array_reserve(&ranges->threads, &ranges->thread_capacity, row + 1UL) < 0)
		return -ENOMEM;
	while (ranges->thread_count <= row)
		ranges->threads[ranges->thread_count++] = (struct range_thread){0};
	*ret_thread = &ranges->threads[row];
	return 0;
}

int ranges_open(struct ranges *ranges, const struct view *view, struct err *err)
{
	int result;

	ranges->view = view;
	result = view_key(view, "reports", schema_kind(KIND_range), "range_name",
			  &ranges->range_name, err);
	return result < 0 ? result
			  : view_key(view, "reports", schema_kind(KIND_usdt_span), "range_name",
				     &ranges->usdt_span_name, err);
}

static s64 find_name(struct ranges *ranges, const struct view_event *event)
{
	bool is_range = event->kind->number == KIND_range;
	struct view_value name = view_value(
		ranges->view, is_range ? ranges->range_name : ranges->usdt_span_name, event);

	if (name.type != VALUE_STRING)
		return -ENOMEM;
	return string_table_add(&ranges->names, name.string, strlen(name.string));
}

int ranges_add(struct ranges *ranges, const struct view_event *event)
{
	struct range range = {event->ts, event->end, 0, event->row_index, 0, RANGES_NONE, 0, 0, 0};
	struct range_thread *thread;
	s64 name;

	if (!is_nvtx(ranges->view, event))
		return 0;
	range.number = ++ranges->event_count;
	if (!is_range_of_thread(event))
		return 0;
	if (event->kind->number == KIND_range)
		range.number = ((const struct record_range *)event->record)->number ?: range.number;
	name = find_name(ranges, event);
	if (name < 0 || find_thread(ranges, range.row, &thread) < 0 ||
	    array_reserve(&thread->places, &thread->capacity, thread->count + 1) < 0 ||
	    array_reserve(&ranges->items, &ranges->capacity, ranges->count + 1) < 0)
		return -ENOMEM;
	range.name = name;
	range.open = event->open;
	find_parent(ranges, thread, &range);
	thread->places[thread->count++] = ranges->count;
	ranges->items[ranges->count++] = range;
	return 0;
}

/* How many of a thread began at ts or before. */
static size_t count_begun(const struct ranges *ranges, const struct range_thread *thread, u64 ts)
{
	size_t low = 0, high = thread->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (range_at(ranges, thread, middle + 1)->ts <= ts)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

s64 ranges_around(struct ranges *ranges, u32 row, u64 ts, u64 end, const u32 **ret_places)
{
	const struct range_thread *thread;
	size_t count = 0, position;

	if (row >= ranges->thread_count)
		return 0;
	thread = &ranges->threads[row];
	position = count_begun(ranges, thread, ts);
	while (position) {
		const struct range *range = range_at(ranges, thread, position);

		if (range->end < end) {
			position = range->previous;
			continue;
		}
		if (array_reserve(&ranges->found, &ranges->found_capacity, count + 1) < 0)
			return -ENOMEM;
		ranges->found[count++] = thread->places[position - 1];
		position--;
	}
	*ret_places = ranges->found;
	return count;
}

const char *ranges_name(const struct ranges *ranges, const struct range *range)
{
	return ranges->names.strings[range->name];
}

void ranges_free(struct ranges *ranges)
{
	for (size_t i = 0; i < ranges->thread_count; i++)
		free(ranges->threads[i].places);
	free(ranges->threads);
	free(ranges->items);
	free(ranges->found);
	string_table_free(&ranges->names);
	*ranges = (struct ranges){0};
}
