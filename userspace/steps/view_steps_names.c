/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an event may be to steps, by its name. Names of a view are at one address as long as it is. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "steps/view_steps_parts.h"

/* Names come from the target. Beyond these they are looked at again each time, or have no part. */
#define KNOWN_MAX  (1U << 16)
#define SERIES_MAX (1U << 12)
#define ITEMS_MAX  (1U << 14)

#define GRAPH_KEY (1ULL << 63)

bool steps_is_range(const struct view *view, const struct view_event *event,
		    enum view_step_source *ret_source)
{
	if (event->kind->number == KIND_range) {
		*ret_source = STEP_OF_NVTX;
		return true;
	}
	if (event->kind->number != KIND_usdt_span ||
	    view_annotation(view, event) != VALUE_usdt_annotation_range)
		return false;
	*ret_source = STEP_OF_RANGE;
	return true;
}

bool steps_has_end(const struct view_event *event)
{
	const struct record_header *record = event->record;
	u8 ended;

	if (event->open)
		return false;
	switch (event->kind->number) {
	case KIND_range:
		ended = ((const struct record_range *)record)->ended;
		return !ended || ended == VALUE_range_ended_ended;
	case KIND_usdt_span:
		ended = ((const struct record_usdt_span *)record)->ended;
		return !ended || ended == VALUE_usdt_ended_ended;
	case KIND_call:
		ended = ((const struct record_call *)record)->ended;
		return ended <= VALUE_call_ended_replaced;
	default:
		return true;
	}
}

static u64 pack(const struct steps_known *known)
{
	return (u64)known->series << 32 | known->name << 1 | known->matches;
}

static struct steps_known unpack(u64 packed)
{
	return (struct steps_known){packed & 1, (packed & 0xffffffff) >> 1, packed >> 32};
}

static bool is_function(u16 kind)
{
	return kind == KIND_call || kind == KIND_entry;
}

static int look_at(struct steps_names *names, const char *name, u16 kind,
		   struct steps_known *ret_known)
{
	struct text series _cleanup_text_ = {0};
	s64 number;

	ret_known->matches = names->glob && fnmatch(names->glob, name, 0) == 0;
	ret_known->name =
		is_function(kind) ? step_name_class_of_function(name) : step_name_class(name);
	step_name_append_series(name, &series);
	if (series.failed)
		return -ENOMEM;
	number = string_table_find(&names->series, text_string(&series), series.length);
	if (number < 0 && names->series.count < SERIES_MAX)
		number = string_table_add(&names->series, text_string(&series), series.length);
	else if (number < 0)
		number = STEPS_SERIES_NONE;
	ret_known->series = number;
	return number < 0 ? -ENOMEM : 0;
}

int steps_names_find(struct steps_names *names, const struct view_event *event,
		     struct steps_known *ret_known)
{
	u64 address = (uintptr_t)event->name, kind = event->kind->number;
	const u64 *known = map_find(&names->known, address, kind);
	int result;

	if (known) {
		*ret_known = unpack(*known);
		return 0;
	}
	result = look_at(names, event->name, kind, ret_known);
	if (result == 0 && names->known.count < KNOWN_MAX)
		result = map_set(&names->known, address, kind, pack(ret_known));
	return result;
}

/* ---- items ---- */

static s64 add_item(struct steps_names *names, u64 key_a, u64 key_b, const char *name,
		    enum step_item_type type)
{
	const u64 *known = map_find(&names->items, key_a, key_b);
	size_t number = names->item_count ? names->item_count : 1;

	if (known)
		return *known;
	if (number == ITEMS_MAX)
		return 0;
	if (array_reserve(&names->types, &names->type_capacity, number + 1) < 0 ||
	    array_reserve(&names->item_names, &names->item_name_capacity, number + 1) < 0 ||
	    map_set(&names->items, key_a, key_b, number) < 0)
		return -ENOMEM;
	names->types[0] = STEP_ITEM_OTHER;
	names->item_names[0] = "";
	names->types[number] = type;
	names->item_names[number] = name;
	names->item_count = number + 1;
	return number;
}

s64 steps_names_item(struct steps_names *names, const char *name, enum step_item_type type)
{
	return add_item(names, (uintptr_t)name, type, name, type);
}

/* The host takes part in some copies. */
static enum step_item_type type_of_copy(const struct record_copy *copy)
{
	switch (copy->direction) {
	case VALUE_copy_direction_host_to_device:
	case VALUE_copy_direction_host_to_array:
		return STEP_ITEM_INPUT;
	case VALUE_copy_direction_device_to_host:
	case VALUE_copy_direction_array_to_host:
		return STEP_ITEM_HOST;
	default:
		return STEP_ITEM_OTHER;
	}
}

static u32 graph_of(const struct record_header *record)
{
	switch (record->kind) {
	case KIND_kernel:
		return ((const struct record_kernel *)record)->graph;
	case KIND_copy:
		return ((const struct record_copy *)record)->graph;
	case KIND_set:
		return ((const struct record_set *)record)->graph;
	case KIND_graph_launch:
		return ((const struct record_graph_launch *)record)->graph;
	default:
		return 0;
	}
}

s64 steps_names_optimizer(struct steps_names *names, const struct view *view, u32 series)
{
	const char *name = names->series.strings[series];

	/* Steps are called by it as long as there is the view. */
	name = view_intern(view, name, strlen(name));
	return name ? steps_names_item(names, name, STEP_ITEM_OPTIMIZER) : -ENOMEM;
}

s64 steps_names_work(struct steps_names *names, const struct view_event *event)
{
	u32 graph = graph_of(event->record);
	enum step_item_type type = STEP_ITEM_OTHER;

	if (graph)
		return add_item(names, GRAPH_KEY | graph, event->cause->pid, event->cause->name,
				STEP_ITEM_GRAPH);
	if (event->kind->number == KIND_kernel)
		return steps_names_item(names, event->name, STEP_ITEM_KERNEL);
	if (event->kind->number == KIND_copy)
		type = type_of_copy((const struct record_copy *)event->record);
	return steps_names_item(names, event->name, type);
}

void steps_names_free(struct steps_names *names)
{
	map_free(&names->known);
	map_free(&names->items);
	string_table_free(&names->series);
	free(names->types);
	free(names->item_names);
}
