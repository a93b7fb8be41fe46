/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/chrome/chrome_metadata.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"

#define CHROME_DAY_NS	      (86400 * NS_PER_SECOND)
#define CHROME_EXACT_DAYS     100
#define CHROME_TIME_STEP_DAYS 90
#define CHROME_DEVICES_MAX    1024 /* facts come from targets */

static u64 chrome_min(u64 a, u64 b)
{
	return a < b ? a : b;
}

static u64 chrome_max(u64 a, u64 b)
{
	return a > b ? a : b;
}

u64 chrome_time_base_ns(const struct view_survey *survey)
{
	u64 first = survey->window_start_ns, last = survey->window_end_ns;

	if (survey->event_count) {
		first = first ? chrome_min(first, survey->first_ns) : survey->first_ns;
		last = chrome_max(last, survey->last_ns);
	}
	if (last < CHROME_EXACT_DAYS * CHROME_DAY_NS)
		return 0;
	return first - first % (CHROME_TIME_STEP_DAYS * CHROME_DAY_NS);
}

void chrome_append_losses(const struct view_survey *survey, struct text *text)
{
	text_append_char(text, '[');
	for (size_t i = 0; i < survey->loss_count; i++) {
		const struct view_loss *loss = &survey->losses[i];

		text_append(text, i ? ",{\"reason\":" : "{\"reason\":");
		json_append_string(text, loss->tag);
		text_append(text, ",\"meaning\":");
		json_append_string(text, loss->meaning);
		text_append(text, ",\"place\":");
		json_append_string(text, loss->place);
		text_append(text, ",\"count\":");
		json_append_u64(text, loss->count);
		if (loss->at_ns >= survey->window_start_ns &&
		    loss->at_ns <= survey->window_end_ns) {
			text_append(text, ",\"ts\":");
			json_append_us(text, loss->at_ns - chrome_time_base_ns(survey));
		}
		text_append_char(text, '}');
	}
	text_append_char(text, ']');
}

/* By group and key; those that share both stay in their order. */
static int chrome_attribute_compare(const void *a_pointer, const void *b_pointer)
{
	const struct view_attribute *a = *(const struct view_attribute *const *)a_pointer;
	const struct view_attribute *b = *(const struct view_attribute *const *)b_pointer;
	int order = strcmp(a->group, b->group);

	if (order == 0)
		order = strcmp(a->key, b->key);
	return order ? order : (a > b) - (a < b);
}

/* A key that stands there several times (each target has a name) becomes an array: a JSON object
 * with the same key twice is read as its last. Gives the number of attributes that it took. */
static size_t chrome_append_attribute(const struct view_attribute *const *attributes, size_t count,
				      struct text *text)
{
	size_t same = 1;

	while (same < count && strcmp(attributes[same]->group, attributes[0]->group) == 0 &&
	       strcmp(attributes[same]->key, attributes[0]->key) == 0)
		same++;
	json_append_string(text, attributes[0]->key);
	text_append(text, same > 1 ? ":[" : ":");
	for (size_t i = 0; i < same; i++) {
		if (i)
			text_append_char(text, ',');
		json_append_string(text, attributes[i]->value);
	}
	if (same > 1)
		text_append_char(text, ']');
	return same;
}

const struct view_attribute **chrome_sorted_attributes(const struct view_survey *survey)
{
	size_t count = survey->attribute_count;
	const struct view_attribute **sorted = calloc(count + 1, sizeof(*sorted));

	for (size_t i = 0; sorted && i < count; i++)
		sorted[i] = &survey->attributes[i];
	if (sorted)
		qsort(sorted, count, sizeof(*sorted), chrome_attribute_compare);
	return sorted;
}

bool chrome_name_end(const struct view_survey *survey, const struct view_recording_end *end,
		     struct text *ret_name)
{
	static const char *const what[] = {
		[VALUE_recorded_sort_gpu] = "work of GPUs",
		[VALUE_recorded_sort_cuda_calls] = "CUDA calls",
		[VALUE_recorded_sort_waits] = "waits",
	};
	const struct schema_enum_value *why = schema_enum("recording_end_why", end->why);

	if (end->sort >= ARRAY_SIZE(what) || !what[end->sort] ||
	    end->until_ns >= survey->window_end_ns)
		return false;
	text_clear(ret_name);
	text_appendf(ret_name, "not recorded: %s", what[end->sort]);
	if (end->pid)
		text_appendf(ret_name, " of process %u", end->pid);
	text_appendf(ret_name, " (%s)", why ? why->meaning : "it is not known why");
	return true;
}

/* One object per group. */
static void chrome_append_attributes(const struct view_survey *survey, struct text *text)
{
	size_t count = survey->attribute_count;
	const struct view_attribute **sorted _cleanup_free_ = chrome_sorted_attributes(survey);

	if (!sorted) {
		text->failed = true;
		return;
	}
	for (size_t i = 0; i < count;) {
		const char *group = sorted[i]->group;
		const char *separator = ":{";

		json_append_string(text, group);
		while (i < count && strcmp(sorted[i]->group, group) == 0) {
			text_append(text, separator);
			separator = ",";
			i += chrome_append_attribute(sorted + i, count - i, text);
		}
		text_append(text, "},\n");
	}
}

static void chrome_append_clock(const struct view_survey *survey, struct text *text)
{
	u64 base = chrome_time_base_ns(survey);

	text_append(text, "\"clock\":{\"name\":\"CLOCK_MONOTONIC\",\"subtractedNanoseconds\":");
	json_append_u64(text, base);
	if (survey->realtime_offset_ns) {
		text_append(text, ",\"realtimeOffsetNanoseconds\":");
		json_append_u64(text, survey->realtime_offset_ns);
		text_append(text, ",\"baseTimeNanoseconds\":");
		json_append_u64(text, survey->realtime_offset_ns + base);
	}
	text_append(text, "},\n\"window\":{\"startNanoseconds\":");
	json_append_u64(text, survey->window_start_ns - base);
	text_append(text, ",\"endNanoseconds\":");
	json_append_u64(text, survey->window_end_ns - base);
	text_append(text, "},\n");
}

/* clang-format off */
static const struct chrome_property_row {
	const char *name;
	const char *field;  /* of the fact device */
	const char *factor; /* another one to multiply with, NULL: none */
} chrome_property_rows[] = {
#define DEVICE(field) SCHEMA_FIELD(device, field)
	{"totalGlobalMem",               DEVICE(memory_bytes),                            NULL},
	{"computeMajor",                 DEVICE(compute_major),                           NULL},
	{"computeMinor",                 DEVICE(compute_minor),                           NULL},
	{"maxThreadsPerBlock",           DEVICE(threads_per_block),                       NULL},
	{"maxThreadsPerMultiprocessor",  DEVICE(warps_per_multiprocessor),                DEVICE(threads_per_warp)},
	{"regsPerMultiprocessor",        DEVICE(registers_per_multiprocessor),            NULL},
	{"warpSize",                     DEVICE(threads_per_warp),                        NULL},
	{"sharedMemPerMultiprocessor",   DEVICE(shared_memory_per_multiprocessor_bytes),  NULL},
	{"numSms",                       DEVICE(multiprocessors),                         NULL},
};
/* clang-format on */

static void chrome_append_property(const struct record_header *device,
				   const struct chrome_property_row *row, struct text *text)
{
	const struct schema_kind *kind = schema_kind(KIND_device);
	const struct schema_field *field = schema_field(kind, row->field);
	const struct schema_field *factor = row->factor ? schema_field(kind, row->factor) : NULL;
	u64 value;

	if (view_field_absent(field, device) || (factor && view_field_absent(factor, device)))
		return;
	value = schema_field_value(field, device, 0);
	text_appendf(text, ",\"%s\":", row->name);
	json_append_number(text, factor ? value * schema_field_value(factor, device, 0) : value);
}

/* What gpuprobe knows besides what Kineto writes. */
static void chrome_append_at_attach(const struct view *view, const struct record_device *device,
				    struct text *text)
{
	const struct record_gpu_at_attach *fact = view_gpu_at_attach(view, device->id);

	if (!fact)
		return;
	if (fact->pci_bus != ~0U)
		text_appendf(text, ",\"pciBusId\":\"%04x:%02x:%02x.0\"", fact->pci_domain,
			     fact->pci_bus, fact->pci_device);
	if (fact->memory_used_bytes != ~0ULL)
		text_appendf(text, ",\"memoryUsedAtAttach\":%llu",
			     (unsigned long long)fact->memory_used_bytes);
	if (fact->process_memory_bytes != ~0ULL)
		text_appendf(text, ",\"processMemoryAtAttach\":%llu",
			     (unsigned long long)fact->process_memory_bytes);
}

static bool chrome_is_listed(const struct record_header *const *devices, size_t place)
{
	for (size_t i = 0; i < place; i++)
		if (view_is_same_gpu(devices[place], devices[i]))
			return true;
	return false;
}

static void chrome_append_devices(const struct view *view, struct text *text)
{
	size_t count, listed = 0;
	const struct record_header *const *devices = view_facts(view, KIND_device, &count);

	text_append(text, "\"deviceProperties\":[");
	for (size_t i = 0; i < count && listed < CHROME_DEVICES_MAX; i++) {
		const struct record_device *device = (const struct record_device *)devices[i];
		const char *name;

		if (!device || chrome_is_listed(devices, i))
			continue;
		name = view_text(view, device->header.name);
		text_append(text, listed++ ? ",\n{\"id\":" : "\n{\"id\":");
		json_append_u64(text, device->number != ~0U ? device->number : device->id);
		if (name) {
			text_append(text, ",\"name\":");
			json_append_string(text, name);
		}
		for (size_t j = 0; j < ARRAY_SIZE(chrome_property_rows); j++)
			chrome_append_property(devices[i], &chrome_property_rows[j], text);
		chrome_append_at_attach(view, device, text);
		text_append_char(text, '}');
	}
	text_append(text, "],\n");
}

void chrome_append_header(const struct view *view, struct text *text)
{
	const struct view_survey *survey = view_survey(view);

	text_append(text, "\"schemaVersion\":1,\n");
	chrome_append_devices(view, text);
	text_append(text, "\"distributedInfo\": {\"rank\": 0},\n\"displayTimeUnit\":\"ms\",\n");
	if (!survey->realtime_offset_ns)
		return;
	text_append(text, "\"baseTimeNanoseconds\":");
	json_append_u64(text, survey->realtime_offset_ns + chrome_time_base_ns(survey));
	text_append(text, ",\n");
}

/* What each probe cost, estimated; where it is known of any. */
static void chrome_append_costs(const struct view *view, struct text *text)
{
	size_t count, listed = 0;
	const struct record_header *const *facts = view_facts(view, KIND_probe_cost, &count);

	for (size_t i = 0; i < count; i++) {
		const struct record_probe_cost *cost = (const struct record_probe_cost *)facts[i];
		const char *name = cost ? view_text(view, cost->header.name) : NULL;

		if (!name || cost->cost_ns == ~0ULL || cost->cpu_ns == ~0ULL)
			continue;
		text_append(text, listed++ ? ",\n{\"name\":" : "\"overhead\":[\n{\"name\":");
		json_append_string(text, name);
		text_append(text, ",\"hits\":");
		json_append_number(text, cost->entries == ~0ULL ? 0 : cost->entries);
		text_append(text, ",\"costNanoseconds\":");
		json_append_number(text, cost->cost_ns);
		text_append(text, ",\"ofCpuNanoseconds\":");
		json_append_number(text, cost->cpu_ns);
		if (cost->switched_off) {
			text_append(text, ",\"switchedOffNanoseconds\":");
			json_append_number(text, cost->switched_off -
							 chrome_time_base_ns(view_survey(view)));
		}
		text_append_char(text, '}');
	}
	if (listed)
		text_append(text, "],\n");
}

void chrome_append_metadata(const struct view *view, struct text *text)
{
	const struct view_survey *survey = view_survey(view);

	text_append(text, "\"metadata\":{\n");
	chrome_append_attributes(survey, text);
	chrome_append_clock(survey, text);
	chrome_append_costs(view, text);
	text_append(text, "\"capture_complete\":");
	text_append(text, view_is_complete(survey) ? "true" : "false");
	if (survey->cut)
		text_append(text, ",\n\"recording_cut\":true");
	text_append(text, ",\n\"losses\":");
	chrome_append_losses(survey, text);
	text_append_char(text, '}');
}
