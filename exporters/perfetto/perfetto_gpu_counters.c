/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/perfetto/perfetto_gpu_counters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

struct perfetto_gpu_counter {
	u32 gpu;
	bool is_decimal;
	u64 number; /* the value that holds */
	double decimal;
};

/* clang-format off */
/* By the first text that its name has. */
static const struct {
	const char *text;
	u32 unit, group; /* 0: none that there is a number for */
} sorts[] = {
	{"GPU busy (%)",    UNIT_PERCENT,   GROUP_COMPUTE},
	{"Kernels running", 0,              GROUP_COMPUTE},
	{"(bytes)",         UNIT_BYTE,      GROUP_MEMORY},
	{"Frees of memory", 0,              GROUP_MEMORY},
	{"(MHz)",           UNIT_MEGAHERTZ, GROUP_SYSTEM},
	{"(mW)",            UNIT_MILLIWATT, GROUP_SYSTEM},
	{"(degrees C)",     UNIT_CELSIUS,   GROUP_SYSTEM},
	{"(%)",             UNIT_PERCENT,   GROUP_SYSTEM},
};
/* clang-format on */

/* ---- a counter that is new ---- */

/* Readers have one counter of a name for a GPU: where several rows are of one GPU the name ends in the process, and further rows of a process
 * are counted. */
static void append_owner(struct perfetto_gpu *gpu, const struct view_event *event,
			 struct text *name)
{
	const struct view_survey *survey = view_survey(gpu->view);
	const struct view_row *row = event->row;
	size_t others = 0, earlier = 0;

	for (size_t i = 0; i < survey->row_count; i++) {
		const struct view_row *other = &survey->rows[i];

		if (other->type != ROW_DEVICE || i == event->row_index ||
		    perfetto_gpu_number(gpu, other) != perfetto_gpu_number(gpu, row))
			continue;
		others++;
		earlier += i < event->row_index && other->pid == row->pid;
	}
	if (!others)
		return;
	text_appendf(name, " (%s%s%u)", row->process_name, *row->process_name ? " " : "", row->pid);
	if (earlier)
		text_appendf(name, " #%zu", earlier + 1);
}

static void append_name(struct perfetto_gpu *gpu, struct perfetto_packets *packets,
			const struct view_event *event, const char *name)
{
	struct text whole _cleanup_text_ = {0};

	text_append(&whole, name);
	append_owner(gpu, event, &whole);
	perfetto_append_string(packets, SPEC_NAME, text_string(&whole));
	packets->body.failed |= whole.failed;
}

static void append_descriptor(struct perfetto_gpu *gpu, struct perfetto_packets *packets,
			      const struct view_event *event, size_t place, const char *name)
{
	struct text *body = &packets->body;
	size_t descriptor = protobuf_begin(body, GPU_COUNTER_DESCRIPTOR);
	size_t spec = protobuf_begin(body, DESCRIPTOR_COUNTER), i = 0;

	protobuf_number(body, SPEC_COUNTER, place + 1);
	append_name(gpu, packets, event, name);
	while (i < ARRAY_SIZE(sorts) && !strstr(name, sorts[i].text))
		i++;
	if (i < ARRAY_SIZE(sorts) && sorts[i].unit)
		protobuf_number(body, SPEC_UNIT, sorts[i].unit);
	if (i < ARRAY_SIZE(sorts))
		protobuf_number(body, SPEC_GROUP, sorts[i].group);
	protobuf_end(body, spec);
	protobuf_end(body, descriptor);
}

/* Its place; count, one behind the last: it is new. -ENOMEM. */
static s64 find_place(struct perfetto_gpu_counters *counters, size_t row_index, const char *name)
{
	s64 number = string_table_add(&counters->names, name, strlen(name));
	const u64 *known;

	if (number < 0)
		return -ENOMEM;
	known = map_find(&counters->places, row_index, (u64)number);
	if (known)
		return (s64)*known;
	if (array_reserve(&counters->counters, &counters->capacity, counters->count + 1) < 0 ||
	    map_set(&counters->places, row_index, (u64)number, counters->count) < 0)
		return -ENOMEM;
	return (s64)counters->count;
}

/* ---- values ---- */

static int write_value(struct perfetto_packets *packets, u64 ts,
		       const struct perfetto_gpu_counter *counter, size_t place, struct err *err)
{
	struct text *body = &packets->body;
	size_t begun = protobuf_begin(body, GPU_COUNTER_VALUE);

	protobuf_number(body, VALUE_COUNTER, place + 1);
	if (counter->is_decimal)
		protobuf_double(body, VALUE_DOUBLE, counter->decimal);
	else
		protobuf_number(body, VALUE_INTEGER, counter->number);
	protobuf_end(body, begun);
	protobuf_number(body, GPU_COUNTER_GPU, counter->gpu);
	return perfetto_packet_write(packets, ts, PACKET_GPU_COUNTER, err);
}

int perfetto_gpu_counters_write(struct perfetto_gpu_counters *counters, struct perfetto_gpu *gpu,
				struct perfetto_packets *packets, const struct view_event *event,
				const char *name, const struct view_value *value, struct err *err)
{
	const struct perfetto_gpu_counter now = {.gpu = perfetto_gpu_number(gpu, event->row),
						 .is_decimal = value->type == VALUE_DECIMAL,
						 .number = value->number,
						 .decimal = value->decimal};
	s64 place = find_place(counters, event->row_index, name);
	struct perfetto_gpu_counter before;

	if (place < 0)
		return err_errno(err, (int)place, "can't write %s", packets->writer.path);
	if ((size_t)place == counters->count) {
		append_descriptor(gpu, packets, event, (size_t)place, name);
		counters->counters[counters->count++] = now;
	}
	before = counters->counters[place];
	counters->counters[place] = now;
	if (event->ts > counters->last_ns)
		counters->last_ns = event->ts;
	return write_value(packets, event->ts, &before, (size_t)place, err);
}

int perfetto_gpu_counters_end(struct perfetto_gpu_counters *counters,
			      struct perfetto_packets *packets, u64 end_ns, struct err *err)
{
	u64 ts = end_ns > counters->last_ns ? end_ns : counters->last_ns;
	int result = 0;

	if (counters->count)
		perfetto_packets_at(packets, ts);
	for (size_t i = 0; i < counters->count && result == 0; i++)
		result = write_value(packets, ts, &counters->counters[i], i, err);
	return result;
}

void perfetto_gpu_counters_free(struct perfetto_gpu_counters *counters)
{
	string_table_free(&counters->names);
	map_free(&counters->places);
	free(counters->counters);
	*counters = (struct perfetto_gpu_counters){0};
}
