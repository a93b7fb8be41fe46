/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/xplane/xplane_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"

/* clang-format off */
/* Kinds without a row show all their fields, by their own names. */
static const struct xplane_stat_row stat_rows[] = {
	{{KIND_call, KIND_entry},            "probe.address",            "address",                    XPLANE_STAT_ANY,      NULL},
	{{KIND_call, KIND_entry},            "probe.binary",             "binary",                     XPLANE_STAT_ANY,      NULL},
	{{KIND_call},                        "ended",                    "ended",                      XPLANE_STAT_ANY,      "returned"},
	{{KIND_entry},                       "reason",                   "reason",                     XPLANE_STAT_ANY,      NULL},

	{{KIND_api},                         "launch_number",            "correlation_id",             XPLANE_STAT_U64,      "0"},
	{{KIND_api},                         "callback",                 "cbid",                       XPLANE_STAT_ANY,      NULL},
	{{KIND_api},                         "unique_correlation",       "cupti_correlation",          XPLANE_STAT_ANY,      NULL},
	{{KIND_api},                         "result",                   "result",                     XPLANE_STAT_ANY,      "0"},

	{{VIEW_GPU_WORK},                    "cause",                    "correlation_id",             XPLANE_STAT_U64,      "0"},
	{{KIND_kernel},                      "occupancy",                "theoretical_occupancy_pct",  XPLANE_STAT_DOUBLE,   NULL},
	{{KIND_kernel},                      "occupancy_estimate",       "estimated_occupancy_pct",    XPLANE_STAT_DOUBLE,   NULL},
	{{KIND_kernel},                      "occupancy_limit",          "occupancy_limited_by",       XPLANE_STAT_ANY,      NULL},
	{{KIND_kernel, KIND_copy, KIND_set}, "graph",                    "cuda_graph_id",              XPLANE_STAT_U64,      NULL},
	{{KIND_graph_launch},                "graph",                    "cuda_graph_exec_id",         XPLANE_STAT_U64,      NULL},
	{{KIND_kernel, KIND_copy, KIND_set}, "graph_node",               "cuda_graph_node_id",         XPLANE_STAT_U64,      NULL},
	{{KIND_kernel},                      "cluster",                  "cluster",                    XPLANE_STAT_ANY,      NULL},
	{{KIND_set},                         "value",                    "value",                      XPLANE_STAT_ANY,      NULL},
	{{KIND_copy, KIND_set},              "bandwidth",                "bandwidth_gb_s",             XPLANE_STAT_DOUBLE,   NULL},
	{{VIEW_GPU_WORK},                    "unique_correlation",       "cupti_correlation",          XPLANE_STAT_ANY,      NULL},
	{{VIEW_GPU_WORK},                    "within_by",                "context_by",                 XPLANE_STAT_ANY,      "own"},
	{{VIEW_GPU_WORK},                    "launch_delay_ns",          "launch_delay_ns",            XPLANE_STAT_ANY,      NULL},
	{{KIND_kernel},                      "queue_ns",                 "queue_ns",                   XPLANE_STAT_ANY,      NULL},
	{{KIND_kernel},                      "priority",                 "stream_priority",            XPLANE_STAT_ANY,      NULL},
	{{KIND_kernel},                      "channel",                  "channel",                    XPLANE_STAT_ANY,      NULL},
	{{KIND_kernel},                      "launch",                   "launch_type",                XPLANE_STAT_ANY,      "regular"},
	{{KIND_kernel},                      "device_launched",          "launched_by_a_kernel",       XPLANE_STAT_ANY,      "no"},
	{{KIND_kernel},                      "kernel_source",            "kernel_source",              XPLANE_STAT_ANY,      NULL},
	{{KIND_kernel},                      "kernel_nodes",             "made_of",                    XPLANE_STAT_ANY,      NULL},
	{{KIND_kernel},                      "mangled",                  "mangled",                    XPLANE_STAT_ANY,      NULL},

	/* Drawn beside the threads: an arrow to them would count as work of a GPU. */
	{{KIND_sync},                        "type",                     "type",                       XPLANE_STAT_ANY,      NULL},
	{{KIND_sync},                        "unique_correlation",       "cupti_correlation",          XPLANE_STAT_ANY,      NULL},
	{{KIND_sync},                        "event",                    "cuda_event",                 XPLANE_STAT_ANY,      NULL},
	{{KIND_sync},                        "result",                   "result",                     XPLANE_STAT_ANY,      "0"},

	{{VIEW_RANGES, KIND_mark},           "domain",                   "domain",                     XPLANE_STAT_ANY,      NULL},
	{{VIEW_RANGES, KIND_mark},           "category_name",            "category",                   XPLANE_STAT_ANY,      NULL},
	{{VIEW_RANGES},                      "payload",                  "payload",                    XPLANE_STAT_ANY,      NULL},
	{{VIEW_RANGES},                      "payload_signed",           "payload_signed",             XPLANE_STAT_ANY,      NULL},
	{{VIEW_RANGES},                      "payload_double",           "payload_double",             XPLANE_STAT_ANY,      NULL},
	{{VIEW_RANGES},                      "ended",                    "ended",                      XPLANE_STAT_ANY,      "ended"},

	{{KIND_usdt_span, KIND_usdt_point},  "usdt.binary",              "binary",                     XPLANE_STAT_ANY,      NULL},
	{{KIND_usdt_span},                   "ended",                    "ended",                      XPLANE_STAT_ANY,      "ended"},

	{{KIND_off_cpu},                     "reason",                   "reason",                     XPLANE_STAT_ANY,      NULL},
	{{KIND_off_cpu},                     "waited",                   "waited_for",                 XPLANE_STAT_ANY,      NULL},
	{{KIND_off_cpu},                     "futex",                    "futex",                      XPLANE_STAT_ANY,      NULL},
	{{KIND_off_cpu},                     "holder_tid",               "holder_tid",                 XPLANE_STAT_ANY,      NULL},
	{{KIND_off_cpu},                     "throttled",                "throttled",                  XPLANE_STAT_ANY,      NULL},
	{{KIND_off_cpu},                     "instead",                  "instead",                    XPLANE_STAT_ANY,      NULL},
	{{KIND_off_cpu},                     "instead_tid",              "instead_tid",                XPLANE_STAT_ANY,      NULL},
	{{KIND_off_cpu},                     "runnable_ns",              "runnable_ns",                XPLANE_STAT_ANY,      NULL},
	{{KIND_off_cpu},                     "woken_by",                 "woken_by",                   XPLANE_STAT_ANY,      NULL},
	{{KIND_off_cpu},                     "waker_tid",                "waker_tid",                  XPLANE_STAT_ANY,      NULL},

	/* Each is a row of its own. */
	{{KIND_gpu_environment},             "sm_clock_mhz",             "sm_clock_mhz",               XPLANE_STAT_COUNTER,  NULL},
	{{KIND_gpu_environment},             "memory_clock_mhz",         "memory_clock_mhz",           XPLANE_STAT_COUNTER,  NULL},
	{{KIND_gpu_environment},             "temperature_celsius",      "gpu_temp_c",                 XPLANE_STAT_COUNTER,  NULL},
	{{KIND_gpu_environment},             "power_milliwatts",         "power_mw",                   XPLANE_STAT_COUNTER,  NULL},
	{{KIND_gpu_environment},             "power_limit_milliwatts",   "power_limit_mw",             XPLANE_STAT_COUNTER,  NULL},
	{{KIND_gpu_environment},             "fan_percent",              "fan_speed_pct",              XPLANE_STAT_COUNTER,  NULL},
	{{KIND_gpu_environment},             "busy_percent",             "gpu_busy_pct",               XPLANE_STAT_COUNTER,  NULL},
	{{KIND_gpu_environment},             "memory_busy_percent",      "gpu_memory_busy_pct",        XPLANE_STAT_COUNTER,  NULL},
	{{KIND_gpu_environment},             "memory_used_bytes",        "gpu_memory_used_bytes",      XPLANE_STAT_COUNTER,  NULL},
	{{KIND_gpu_environment},             "pcie_sent_kb_s",           "pcie_sent_kb_s",             XPLANE_STAT_COUNTER,  NULL},
	{{KIND_gpu_environment},             "pcie_received_kb_s",       "pcie_received_kb_s",         XPLANE_STAT_COUNTER,  NULL},
	{{KIND_gpu_environment},             "nvlink_sent_kib_s",        "nvlink_sent_kib_s",          XPLANE_STAT_COUNTER,  NULL},
	{{KIND_gpu_environment},             "nvlink_received_kib_s",    "nvlink_received_kib_s",      XPLANE_STAT_COUNTER,  NULL},
	{{KIND_gpu_environment},             "throttle_reasons",         "throttle_reasons",           XPLANE_STAT_COUNTER,  NULL},
	{{KIND_process_memory},              "resident_bytes",           "resident_bytes",             XPLANE_STAT_COUNTER,  NULL},
	{{KIND_process_memory},              "mapped_bytes",             "mapped_bytes",               XPLANE_STAT_COUNTER,  NULL},
	{{KIND_probing},                     "percent",                  "gpuprobe_overhead_pct",      XPLANE_STAT_COUNTER,  NULL},
};

/* Names by which XProf knows what copies are, and others. */
static const struct xplane_name_row name_rows[] = {
	{KIND_copy,         "direction", "host_to_device",   "MemcpyHtoD"},
	{KIND_copy,         "direction", "host_to_array",    "MemcpyHtoD"},
	{KIND_copy,         "direction", "device_to_host",   "MemcpyDtoH"},
	{KIND_copy,         "direction", "array_to_host",    "MemcpyDtoH"},
	{KIND_copy,         "direction", "device_to_device", "MemcpyDtoD"},
	{KIND_copy,         "direction", "array_to_array",   "MemcpyDtoD"},
	{KIND_copy,         "direction", "array_to_device",  "MemcpyDtoD"},
	{KIND_copy,         "direction", "device_to_array",  "MemcpyDtoD"},
	{KIND_copy,         "direction", "host_to_host",     "MemcpyHtoH"},
	{KIND_copy,         "direction", "peer_to_peer",     "MemcpyDtoD (peer)"},
	{KIND_copy,         NULL,        NULL,               "MemcpyOther"},
	{KIND_set,          NULL,        NULL,               "Memset"},
	{KIND_graph_launch, "graph",     NULL,               "CudaGraphExec:"},
};
/* clang-format on */

#define REFERENCE_BYTES_MIN 32
#define XPLANE		    "xplane" /* who looks up, in messages */

struct stat {
	const char *name;
	const char *unless;
	const struct view_key *key;
	enum xplane_stat_type type;
};

struct name {
	const struct view_key *key;
	const char *value, *name;
};

struct xplane_values_kind {
	struct stat *stats;
	size_t stat_count, stat_capacity;
	bool has_rows; /* in stat_rows */
	struct name *names;
	size_t name_count, name_capacity;
};

/* ---- finding ---- */

static struct xplane_values_kind *kind_of(const struct xplane_values *values,
					  const struct schema_kind *kind)
{
	size_t count;

	return &values->kinds[kind - schema_kinds(&count)];
}

static int add_stat(struct xplane_values *values, const struct schema_kind *kind,
		    const struct xplane_stat_row *row, struct err *err)
{
	struct xplane_values_kind *found = kind_of(values, kind);
	struct stat stat = {.name = row->stat, .unless = row->unless, .type = row->type};
	int result = view_key_with_value(values->view, XPLANE, kind, row->key, row->unless,
					 &stat.key, err);

	if (result < 0)
		return result;
	if (array_reserve(&found->stats, &found->stat_capacity, found->stat_count + 1) < 0)
		return err_errno(err, -ENOMEM, XPLANE ": can't look up the stats of %s", kind->tag);
	found->stats[found->stat_count++] = stat;
	return 0;
}

int xplane_values_add_stat(struct xplane_values *values, const struct xplane_stat_row *row,
			   struct err *err)
{
	int result = 0;

	for (size_t i = 0; i < VIEW_ROW_KINDS_MAX && row->kinds[i] && result == 0; i++)
		result = add_stat(values, schema_kind(row->kinds[i]), row, err);
	return result;
}

static int add_all_fields(struct xplane_values *values, const struct schema_kind *kind,
			  struct err *err)
{
	int result = 0;

	for (size_t i = 0; i < kind->field_count && result == 0; i++) {
		const struct xplane_stat_row row = {.key = kind->fields[i].name,
						    .stat = kind->fields[i].name,
						    .type = kind->shape == SHAPE_COUNTER
								    ? XPLANE_STAT_COUNTER
								    : XPLANE_STAT_ANY};

		if (kind->fields[i].unit != UNIT_PAD)
			result = add_stat(values, kind, &row, err);
	}
	return result;
}

int xplane_values_add_name(struct xplane_values *values, const struct xplane_name_row *row,
			   struct err *err)
{
	const struct schema_kind *kind = schema_kind(row->kind);
	struct xplane_values_kind *found = kind_of(values, kind);
	struct name name = {.value = row->value, .name = row->name};
	int result = 0;

	if (row->key)
		result = view_key_with_value(values->view, XPLANE, kind, row->key, row->value,
					     &name.key, err);
	if (result < 0)
		return result;
	if (array_reserve(&found->names, &found->name_capacity, found->name_count + 1) < 0)
		return err_errno(err, -ENOMEM, XPLANE ": can't look up the names of %s", kind->tag);
	found->names[found->name_count++] = name;
	return 0;
}

static int find_rows(struct xplane_values *values, struct err *err)
{
	const struct schema_kind *kinds = schema_kinds(&values->kind_count);
	int result = 0;

	for (size_t i = 0; i < ARRAY_SIZE(stat_rows) && result == 0; i++)
		result = xplane_values_add_stat(values, &stat_rows[i], err);
	for (size_t i = 0; i < values->kind_count && result == 0; i++) {
		values->kinds[i].has_rows = values->kinds[i].stat_count > 0;
		if (kinds[i].shape != SHAPE_FACT && !values->kinds[i].has_rows)
			result = add_all_fields(values, &kinds[i], err);
	}
	for (size_t i = 0; i < ARRAY_SIZE(name_rows) && result == 0; i++)
		result = xplane_values_add_name(values, &name_rows[i], err);
	return result;
}

int xplane_values_find(struct xplane_values *values, const struct view *view, struct err *err)
{
	int result = xplane_details_find(&values->details, view, err);

	values->stacks.view = view;

	if (result < 0)
		return result;
	schema_kinds(&values->kind_count);
	values->view = view;
	values->kinds = calloc(values->kind_count, sizeof(*values->kinds));
	values->texts = calloc(XPLANE_STATS_MAX, sizeof(*values->texts));
	if (!values->kinds || !values->texts)
		return err_errno(err, -ENOMEM, XPLANE ": can't look up the stats");
	return find_rows(values, err);
}

void xplane_values_free(struct xplane_values *values)
{
	for (size_t i = 0; values->kinds && i < values->kind_count; i++) {
		free(values->kinds[i].stats);
		free(values->kinds[i].names);
	}
	for (size_t i = 0; values->texts && i < XPLANE_STATS_MAX; i++)
		text_free(&values->texts[i]);
	xplane_details_free(&values->details);
	xplane_stacks_free(&values->stacks);
	free(values->kinds);
	free(values->texts);
	*values = (struct xplane_values){0};
}

/* ---- values ---- */

static double as_double(const struct view_value *value)
{
	switch (value->type) {
	case VALUE_DECIMAL:
		return value->decimal;
	case VALUE_S64:
		return (double)(s64)value->number;
	default:
		return (double)value->number;
	}
}

static void set_string(xplane_stat *stat, const char *string)
{
	stat->value_case = TENSORFLOW__PROFILER__XSTAT__VALUE_STR_VALUE;
	stat->str_value = (char *)string;
}

/* Mangled names, paths: the file has each once. Short ones gain nothing, and may be what readers take for a stat's name. */
static bool is_long_constant(const struct xplane_plane *plane, const char *string)
{
	size_t length = strlen(string);
	u32 code_point;

	if (length < REFERENCE_BYTES_MIN || plane->stat_names.count >= XPLANE_REFERENCES_MAX)
		return false;
	for (size_t at = 0, bytes; at < length; at += bytes) {
		bytes = utf8_decode(string + at, length - at, &code_point);
		if (!bytes)
			return false;
	}
	return true;
}

/* Where a table has the string at this address: what a view gave stays there. */
static const char **known_place(const char *table[XPLANE_KNOWN], const char *string)
{
	u64 address = (uintptr_t)string;

	return &table[(address ^ address >> 9) % XPLANE_KNOWN];
}

/* text: for one that is no UTF-8. */
static void set_string_value(struct xplane_values *values, struct xplane_plane *plane,
			     xplane_stat *stat, const char *string, struct text *text)
{
	const char **known = known_place(values->short_strings, string), *valid;

	if (*known == string) {
		set_string(stat, string);
		return;
	}
	if (is_long_constant(plane, string)) {
		stat->value_case = TENSORFLOW__PROFILER__XSTAT__VALUE_REF_VALUE;
		stat->ref_value = xplane_plane_constant(plane, string);
		return;
	}
	valid = text_utf8(string, text);
	set_string(stat, valid);
	if (valid == string && strlen(string) < REFERENCE_BYTES_MIN)
		*known = string;
}

/* text: for a value that is put together. */
static void set_value(struct xplane_values *values, struct xplane_plane *plane, xplane_stat *stat,
		      enum xplane_stat_type type, const struct view_value *value, struct text *text)
{
	bool is_number = value->type == VALUE_U64 || value->type == VALUE_S64 ||
			 value->type == VALUE_DECIMAL;

	if (is_number && (type == XPLANE_STAT_DOUBLE || type == XPLANE_STAT_COUNTER ||
			  value->type == VALUE_DECIMAL)) {
		stat->value_case = TENSORFLOW__PROFILER__XSTAT__VALUE_DOUBLE_VALUE;
		stat->double_value = as_double(value);
	} else if (is_number && (type == XPLANE_STAT_S64 ||
				 (type == XPLANE_STAT_ANY && value->type == VALUE_S64))) {
		stat->value_case = TENSORFLOW__PROFILER__XSTAT__VALUE_INT64_VALUE;
		stat->int64_value = (s64)value->number;
	} else if (is_number) {
		stat->value_case = TENSORFLOW__PROFILER__XSTAT__VALUE_UINT64_VALUE;
		stat->uint64_value = value->number;
	} else if (value->type == VALUE_STRING) {
		set_string_value(values, plane, stat, value->string, text);
	} else {
		text_clear(text);
		xplane_append_value(text, value);
		set_string(stat, text_string(text));
	}
}

static bool goes_without_saying(const struct stat *stat, const struct view_value *value)
{
	if (!stat->unless)
		return false;
	if (value->type == VALUE_STRING)
		return strcmp(value->string, stat->unless) == 0;
	return value->number == 0 && strcmp(stat->unless, "0") == 0;
}

static int add_stats(struct xplane_values *values, const struct xplane_values_kind *found,
		     const struct view_event *event, struct xplane_plane *plane,
		     struct xplane_event *ret_event)
{
	for (size_t i = 0; i < found->stat_count; i++) {
		const struct stat *row = &found->stats[i];
		struct view_value value = view_value(values->view, row->key, event);
		bool is_string = value.type == VALUE_STRING;
		xplane_stat *stat;
		s64 id;

		if (value.type == VALUE_ABSENT || goes_without_saying(row, &value))
			continue;
		/* A text between the numbers of a counter says nothing there. */
		if (row->type == XPLANE_STAT_COUNTER && (is_string || value.type == VALUE_ARRAY))
			continue;
		id = xplane_plane_constant(plane, row->name);
		if (!id)
			return -ENOMEM;
		stat = xplane_event_stat(ret_event, id);
		if (stat)
			set_value(values, plane, stat, row->type, &value,
				  &values->texts[ret_event->message.n_stats - 1]);
	}
	return 0;
}

int xplane_values_add(struct xplane_values *values, const struct view_event *event,
		      struct xplane_plane *plane, struct xplane_event *ret_event)
{
	const struct xplane_values_kind *found = kind_of(values, event->kind);
	int result = xplane_details_add(&values->details, event, plane, ret_event);

	if (result >= 0)
		result = add_stats(values, found, event, plane, ret_event);
	return result;
}

int xplane_values_add_stack(struct xplane_values *values, const struct view_event *event,
			    struct xplane_plane *plane, struct xplane_event *ret_event)
{
	return xplane_stacks_add(&values->stacks, event, plane, ret_event);
}

/* XProf knows events of TensorFlow by these names. */
static bool is_taken(const char *name)
{
	static const char *const taken[] = {
		/* Loops: of the whole file nothing is grouped. */
		"ForOp",
		"ForeverOp",
		"ParallelForOp",
		"WhileOp-EvalCond",
		"WhileOp-StartBody",
		/* Only the memory's line has them. */
		"MemoryAllocation",
		"MemoryDeallocation",
		/* They are steps. */
		"BatchingSessionRun",
		"ProcessBatch",
		"TraceContext",
		/* They are not shown. */
		"MapAndBatchConsume",
		"MapAndBatchProduce",
		"ParallelInterleaveConsume",
		"ParallelInterleaveInitializeInput",
		"ParallelInterleaveProduce",
		"ParallelMapConsume",
		"ParallelMapProduce",
		"ParseExampleConsume",
		"ParseExampleProduce",
		"PrefetchConsume",
		"PrefetchProduce",
	};

	if (!strchr("BFMPTW", *name))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		if (strcmp(name, taken[i]) == 0)
			return true;
	return false;
}

/* Stages of TensorFlow's input have such names: ranges may be some, functions of a class of that name are none. */
static bool is_like_stage(const struct view_event *event)
{
	return (event->kind->number == KIND_call || event->kind->number == KIND_entry) &&
	       strncmp(event->name, "Iterator::", strlen("Iterator::")) == 0;
}

static const char *own_name(struct xplane_values *values, const struct view_event *event)
{
	const char **known = known_place(values->plain_names, event->name);
	struct text *text = &values->texts[0], scratch _cleanup_text_ = {0};

	if (is_like_stage(event)) {
		text_clear(text);
		text_appendf(text, "::%s", text_utf8(event->name, &scratch));
		return text_string(text);
	}
	if (*known == event->name)
		return event->name;
	if (!is_taken(event->name)) {
		const char *name = text_utf8(event->name, text);

		if (name == event->name)
			*known = name;
		return name;
	}
	text_clear(text);
	text_appendf(text, "%s()", event->name);
	return text_string(text);
}

const char *xplane_values_name(struct xplane_values *values, const struct view_event *event)
{
	const struct xplane_values_kind *found = kind_of(values, event->kind);

	for (size_t i = 0; i < found->name_count; i++) {
		const struct name *name = &found->names[i];
		struct text *text = &values->texts[0];
		struct view_value value = {0};

		if (name->key)
			value = view_value(values->view, name->key, event);
		if (!name->key || (name->value && value.type == VALUE_STRING &&
				   strcmp(value.string, name->value) == 0))
			return name->name;
		if (name->value || value.type == VALUE_ABSENT)
			continue;
		text_clear(text);
		text_append(text, name->name);
		xplane_append_value(text, &value);
		return text_string(text);
	}
	return own_name(values, event);
}

bool xplane_values_have_names(const struct xplane_values *values, const struct view_event *event)
{
	const struct xplane_values_kind *found = kind_of(values, event->kind);

	return found->stat_count > 1 || found->has_rows;
}
