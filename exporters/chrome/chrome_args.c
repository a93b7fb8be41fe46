/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/chrome/chrome_args.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "exporters/args.h"
#include "exporters/chrome/chrome_code.h"

/* clang-format off */
/* Kinds without a row show all their fields, by their own names. */
static const struct chrome_arg_row chrome_arg_rows[] = {
	{{KIND_call, KIND_entry},            "probe.address",               "address",                                     NULL},
	{{KIND_call, KIND_entry},            "probe.binary",                "binary",                                      NULL},
	{{KIND_call},                        "ended",                       "ended",                                       "returned"},
	{{KIND_entry},                       "reason",                      "reason",                                      NULL},

	{{KIND_api},                         "callback",                    "cbid",                                        NULL},
	{{KIND_api},                         "unique_correlation",          "correlation",                                 NULL},
	{{KIND_api},                         "outer_correlation",           "correlation of the outer call",               NULL},
	{{KIND_api},                         "result",                      "result",                                      "0"},

	/* Of what runs on a GPU, and of its memory. */
	{{KIND_kernel},                      "queued",                      "queued",                                      NULL},
	{{VIEW_GPU_WORK, KIND_gpu_memory, KIND_gpu_pool}, "device_number",               "device",                                      NULL},
	{{VIEW_GPU_WORK, KIND_gpu_memory},   "context_number",              "context",                                     NULL},
	{{VIEW_GPU_WORK},                    "stream_number",               "stream",                                      NULL},
	{{KIND_gpu_memory},                  "stream_number",               "stream of the pool",                          NULL},
	{{VIEW_GPU_WORK, KIND_gpu_memory, KIND_gpu_pool}, "unique_correlation",          "correlation",                                 NULL},
	{{KIND_gpu_memory, KIND_gpu_pool},   "address",                     "address",                                     NULL},
	{{KIND_copy, KIND_set, KIND_gpu_memory, KIND_gpu_pool}, "bytes",                       "bytes",                                       NULL},
	{{KIND_gpu_memory},                  "pool",                        "pool",                                        NULL},
	{{KIND_gpu_memory},                  "pool_bytes",                  "pool bytes",                                  NULL},
	{{KIND_gpu_memory},                  "pool_used_bytes",             "pool bytes in use",                           NULL},
	{{KIND_gpu_pool},                    "used_bytes",                  "bytes in use",                                NULL},
	{{KIND_gpu_pool},                    "kept_bytes",                  "bytes kept at least",                         NULL},
	{{KIND_set},                         "value",                       "value",                                       NULL},
	{{KIND_copy, KIND_set},              "bandwidth",                   "memory bandwidth (GB/s)",                     NULL},
	{{KIND_copy},                        "source_device_number",        "fromDevice",                                  NULL},
	{{KIND_copy},                        "destination_device_number",   "toDevice",                                    NULL},
	{{KIND_kernel},                      "kernel_source",               "source",                                      NULL},
	{{KIND_kernel},                      "kernel_nodes",                "made of",                                     NULL},
	{{KIND_kernel},                      "registers_per_thread",        "registers per thread",                        NULL},
	{{KIND_kernel},                      "shared_memory_bytes",         "shared memory",                               NULL},
	{{KIND_kernel},                      "blocks_per_sm",               "blocks per SM",                               NULL},
	{{KIND_kernel},                      "warps_per_sm",                "warps per SM",                                NULL},
	{{KIND_kernel},                      "grid",                        "grid",                                        NULL},
	{{KIND_kernel},                      "block",                       "block",                                       NULL},
	{{KIND_kernel},                      "cluster",                     "cluster",                                     NULL},
	{{KIND_kernel},                      "occupancy_estimate",          "est. achieved occupancy %",                   NULL},
	{{KIND_kernel},                      "occupancy_active_blocks",     "occupancy>activeBlocksPerMultiprocessor",     NULL},
	{{KIND_kernel},                      "occupancy_factors",           "occupancy>limitingFactors",                   NULL},
	{{KIND_kernel},                      "occupancy_registers",         "occupancy>blockLimitRegs",                    NULL},
	{{KIND_kernel},                      "occupancy_shared_memory",     "occupancy>blockLimitSharedMem",               NULL},
	{{KIND_kernel},                      "occupancy_warps",             "occupancy>blockLimitWarps",                   NULL},
	{{KIND_kernel},                      "occupancy_blocks",            "occupancy>blockLimitBlocks",                  NULL},
	{{KIND_kernel},                      "block_registers",             "occupancy>allocatedRegistersPerBlock",        NULL},
	{{KIND_kernel},                      "block_shared_memory_bytes",   "occupancy>allocatedSharedMemPerBlock",        NULL},
	{{KIND_kernel},                      "occupancy",                   "theoretical occupancy %",                     NULL},
	{{KIND_kernel},                      "occupancy_limit",             "occupancy limited by",                        NULL},
	{{VIEW_GPU_WORK},                    "graph",                       "graph id",                                    NULL},
	{{KIND_kernel, KIND_copy, KIND_set}, "graph_node",                  "graph node id",                               NULL},
	{{KIND_kernel, KIND_copy, KIND_set}, "channel",                     "channel",                                     NULL},
	{{KIND_kernel, KIND_copy, KIND_set}, "channel_type",                "channel_type",                                NULL},
	{{KIND_copy},                        "async",                       "async",                                       NULL},
	{{KIND_kernel},                      "launch",                      "launch type",                                 "regular"},
	{{KIND_kernel},                      "priority",                    "priority",                                    NULL},
	{{KIND_kernel},                      "device_launched",             "launched by a kernel",                        "no"},
	{{VIEW_GPU_WORK},                    "within",                      "within",                                      NULL},
	{{VIEW_GPU_WORK},                    "within_by",                   "within, known by",                            "own"},
	{{VIEW_GPU_WORK},                    "launch_delay_ns",             "launch delay (ns)",                           NULL},
	{{KIND_kernel, KIND_graph_launch},   "queue_ns",                    "queue time (ns)",                             NULL},
	{{KIND_kernel},                      "matmul",                      "matrix product (m, n, k, batch)",             NULL},
	{{KIND_kernel},                      "matmul_flops",                "floating-point operations",                   NULL},
	{{KIND_kernel},                      "mangled",                     "mangled",                                     NULL},

	{{KIND_sync},                        "type_word",                   "cuda_sync_kind",                              NULL},
	{{KIND_gpu_event},                   "event",                       "event_id",                                    NULL},
	{{KIND_sync, KIND_gpu_event},        "stream_number",               "stream",                                      NULL},
	{{KIND_sync, KIND_gpu_event},        "unique_correlation",          "correlation",                                 NULL},
	{{KIND_sync, KIND_gpu_event},        "device_number",               "device",                                      NULL},
	{{KIND_sync, KIND_gpu_event},        "context_number",              "context",                                     NULL},
	{{KIND_sync},                        "recorded_in",                 "wait_on_stream",                              NULL},
	{{KIND_sync},                        "recorded_by",                 "wait_on_cuda_event_record_corr_id",           NULL},
	{{KIND_sync},                        "event",                       "wait_on_cuda_event_id",                       NULL},
	{{KIND_sync},                        "result",                      "result",                                      "0"},

	{{KIND_migration},                   "value",                       "value",                                       NULL},
	{{KIND_migration},                   "address",                     "address",                                     NULL},
	{{KIND_migration},                   "source_device_number",        "fromDevice",                                  NULL},
	{{KIND_migration},                   "destination_device_number",   "toDevice",                                    NULL},
	{{KIND_migration},                   "migration_cause",             "cause",                                       NULL},
	{{KIND_migration},                   "access",                      "access",                                      NULL},

	{{KIND_usdt_span, KIND_usdt_point},  "usdt.binary",                 "binary",                                      NULL},
	{{KIND_usdt_span},                   "ended",                       "ended",                                       "ended"},

	{{KIND_mapping},                     "bytes",                       "bytes",                                       NULL},
	{{KIND_mapping},                     "mapped_bytes",                "address space (bytes)",                       NULL},


	/* Of a counter each is an event, with its name behind that of the record. */
	{{KIND_process_memory},              "resident_bytes",              "resident (bytes)",                            NULL},
	{{KIND_process_memory},              "mapped_bytes",                "address space (bytes)",                       NULL},

	{{KIND_off_cpu},                     "reason",                      "reason",                                      NULL},
	{{KIND_off_cpu},                     "waited",                      "waited for",                                  NULL},
	{{KIND_off_cpu},                     "fd",                          "descriptor",                                  NULL},
	{{KIND_off_cpu},                     "futex",                       "futex",                                       NULL},
	{{KIND_off_cpu},                     "holder_tid",                  "thread that had the lock",                    NULL},
	{{KIND_off_cpu},                     "throttled",                   "throttled by its cgroup",                     NULL},
	{{KIND_off_cpu},                     "instead",                     "what ran instead",                            NULL},
	{{KIND_off_cpu},                     "instead_pid",                 "process that ran instead",                    NULL},
	{{KIND_off_cpu},                     "instead_tid",                 "thread that ran instead",                     NULL},
	{{KIND_off_cpu},                     "runnable_ns",                 "waited for a CPU (ns)",                       NULL},
	{{KIND_off_cpu},                     "woken_by",                    "woken by",                                    NULL},
	{{KIND_off_cpu},                     "waker",                       "what woke it",                                NULL},
	{{KIND_off_cpu},                     "waker_pid",                   "process that woke it",                        NULL},
	{{KIND_off_cpu},                     "waker_tid",                   "thread that woke it",                         NULL},
	{{KIND_off_cpu},                     "before",                      "since before the window",                     NULL},
	{{KIND_off_cpu},                     "ended",                       "end",                                         NULL},
	{{KIND_off_cpu},                     "from_cpu",                    "CPU before",                                  NULL},
	{{KIND_off_cpu},                     "to_cpu",                      "CPU after",                                   NULL},

	{{KIND_gpu_environment},             "sm_clock_mhz",                "SM clock (MHz)",                              NULL},
	{{KIND_gpu_environment},             "memory_clock_mhz",            "memory clock (MHz)",                          NULL},
	{{KIND_gpu_environment},             "temperature_celsius",         "temperature (degrees C)",                     NULL},
	{{KIND_gpu_environment},             "power_milliwatts",            "power (mW)",                                  NULL},
	{{KIND_gpu_environment},             "power_limit_milliwatts",      "power limit (mW)",                            NULL},
	{{KIND_gpu_environment},             "fan_percent",                 "fan speed (%)",                               NULL},
	{{KIND_gpu_environment},             "busy_percent",                "kernels ran (% of the time)",                 NULL},
	{{KIND_gpu_environment},             "memory_busy_percent",         "memory busy (% of the time)",                 NULL},
	{{KIND_gpu_environment},             "memory_used_bytes",           "memory in use (bytes)",                       NULL},
	{{KIND_gpu_environment},             "pcie_sent_kb_s",              "PCIe sent (KB/s)",                            NULL},
	{{KIND_gpu_environment},             "pcie_received_kb_s",          "PCIe received (KB/s)",                        NULL},
	{{KIND_gpu_environment},             "nvlink_sent_kib_s",           "NVLink sent (KiB/s)",                         NULL},
	{{KIND_gpu_environment},             "nvlink_received_kib_s",       "NVLink received (KiB/s)",                     NULL},
	{{KIND_gpu_environment},             "throttle_reasons",            "throttle reasons (bits)",                     NULL},

	{{KIND_probing},                     "percent",                     "overhead (% of CPU time)",                    NULL},

	{{KIND_function_total},              "calls",                       "calls",                                       NULL},
	{{KIND_function_total},              "timed_calls",                 "calls seen to end",                           NULL},
	{{KIND_function_total},              "time_ns",                     "total (ns)",                                  NULL},
	{{KIND_function_total},              "average_ns",                  "average (ns)",                                NULL},
	{{KIND_function_total},              "minimum_ns",                  "minimum (ns)",                                NULL},
	{{KIND_function_total},              "maximum_ns",                  "maximum (ns)",                                NULL},
	{{KIND_function_total},              "distribution",                "distribution",                                NULL},
	{{KIND_function_total},              "probe.address",               "address",                                     NULL},
	{{KIND_function_total},              "probe.binary",                "binary",                                      NULL},

	{{KIND_overhead},                    "type",                        "type",                                        NULL},

	{{VIEW_RANGES, KIND_mark},           "domain",                      "domain",                                      NULL},
	{{VIEW_RANGES, KIND_mark},           "category_name",               "category name",                               NULL},
	{{VIEW_RANGES, KIND_mark},           "category",                    "category",                                    NULL},
	{{VIEW_RANGES, KIND_mark},           "color",                       "color",                                       NULL},
	{{VIEW_RANGES, KIND_mark},           "payload",                     "payload",                                     NULL},
	{{VIEW_RANGES, KIND_mark},           "payload_signed",              "payload",                                     NULL},
	{{VIEW_RANGES, KIND_mark},           "payload_double",              "payload",                                     NULL},
	{{VIEW_RANGES},                      "ended",                       "ended",                                       "ended"},
};

static const struct chrome_category_row chrome_category_rows[] = {
	{{KIND_api},                 "domain",          "driver", "cuda_driver"},
	{{KIND_api},                 NULL,              NULL,     "cuda_runtime"},
	{{KIND_copy},                NULL,              NULL,     "gpu_memcpy"},
	{{KIND_set},                 NULL,              NULL,     "gpu_memset"},
	{{KIND_sync},                NULL,              NULL,     "cuda_sync"},
	{{KIND_gpu_event},           NULL,              NULL,     "cuda_event"},
	{{VIEW_RANGES, KIND_mark},   NULL,              NULL,     "user_annotation"},
	{{KIND_usdt_span},           "usdt.annotation", "range",  "user_annotation"},
	{{KIND_usdt_point},          "usdt.annotation", "mark",   "user_annotation"},
};
/* clang-format on */

struct chrome_arg {
	const char *name;
	const char *unless;
	u64 unless_number; /* the same */
	const struct view_key *key;
};

struct chrome_category {
	const struct view_key *key; /* NULL: all */
	const char *value;
	const char *category;
};

#define CATEGORIES_MAX 2
#define CHROME	       "chrome" /* who looks up, in messages */

/* The args of one kind, looked up in the view that is written. */
struct chrome_kind {
	struct chrome_arg *args;
	size_t count;
	size_t capacity;
	struct chrome_category categories[CATEGORIES_MAX]; /* the first that fits; else the tag */
	size_t category_count;
};

static struct chrome_kind *chrome_kind(const struct chrome_args *args,
				       const struct schema_kind *kind)
{
	size_t count;

	return &args->kinds[kind - schema_kinds(&count)];
}

static int chrome_add_to_kind(struct chrome_args *args, const struct schema_kind *kind,
			      const struct chrome_arg_row *row, struct err *err)
{
	struct chrome_kind *found = chrome_kind(args, kind);
	struct chrome_arg arg = {.name = row->name,
				 .unless = row->unless,
				 .unless_number =
					 row->unless ? strtoull(row->unless, NULL, 10) : 0};
	int result =
		view_key_with_value(args->view, CHROME, kind, row->key, row->unless, &arg.key, err);

	if (result < 0)
		return result;
	if (array_reserve(&found->args, &found->capacity, found->count + 1) < 0)
		return err_errno(err, -ENOMEM, CHROME ": can't look up the args of %s", kind->tag);
	found->args[found->count++] = arg;
	return 0;
}

int chrome_args_add(struct chrome_args *args, const struct chrome_arg_row *row, struct err *err)
{
	int result = 0;

	for (size_t i = 0; i < VIEW_ROW_KINDS_MAX && row->kinds[i] && result == 0; i++)
		result = chrome_add_to_kind(args, schema_kind(row->kinds[i]), row, err);
	return result;
}

static int chrome_add_all_fields(struct chrome_args *args, const struct schema_kind *kind,
				 struct err *err)
{
	int result = 0;

	for (size_t i = 0; i < kind->field_count && result == 0; i++) {
		const char *name = kind->fields[i].name;
		const struct chrome_arg_row row = {.key = name, .name = name};

		if (kind->fields[i].unit != UNIT_PAD)
			result = chrome_add_to_kind(args, kind, &row, err);
	}
	return result;
}

static int chrome_add_category(struct chrome_args *args, const struct schema_kind *kind,
			       const struct chrome_category_row *row, struct err *err)
{
	struct chrome_kind *found = chrome_kind(args, kind);
	struct chrome_category category = {.value = row->value, .category = row->category};
	int result = 0;

	if (found->category_count == CATEGORIES_MAX)
		return err_set(err, -EINVAL, CHROME ": %s has more than %d categories", kind->tag,
			       CATEGORIES_MAX);
	if (row->key)
		result = view_key_with_value(args->view, CHROME, kind, row->key, row->value,
					     &category.key, err);
	if (result == 0)
		found->categories[found->category_count++] = category;
	return result;
}

int chrome_args_add_category(struct chrome_args *args, const struct chrome_category_row *row,
			     struct err *err)
{
	int result = 0;

	for (size_t i = 0; i < VIEW_ROW_KINDS_MAX && row->kinds[i] && result == 0; i++)
		result = chrome_add_category(args, schema_kind(row->kinds[i]), row, err);
	return result;
}

int chrome_args_begin(struct chrome_args *args, const struct view *view, struct err *err)
{
	(void)schema_kinds(&args->kind_count);
	args->view = view;
	args->kinds = calloc(args->kind_count, sizeof(*args->kinds));
	return args->kinds ? 0 : err_errno(err, -ENOMEM, CHROME ": can't look up the args");
}

int chrome_args_find(struct chrome_args *args, const struct view *view, struct err *err)
{
	int result = chrome_args_begin(args, view, err);
	const struct schema_kind *kinds = schema_kinds(&args->kind_count);

	if (result < 0)
		return result;
	for (size_t i = 0; i < ARRAY_SIZE(chrome_arg_rows) && result == 0; i++)
		result = chrome_args_add(args, &chrome_arg_rows[i], err);
	for (size_t i = 0; i < args->kind_count && result == 0; i++)
		if (kinds[i].shape != SHAPE_FACT && !args->kinds[i].count)
			result = chrome_add_all_fields(args, &kinds[i], err);
	for (size_t i = 0; i < ARRAY_SIZE(chrome_category_rows) && result == 0; i++)
		result = chrome_args_add_category(args, &chrome_category_rows[i], err);
	return result;
}

void chrome_args_free(struct chrome_args *args)
{
	for (size_t i = 0; args->kinds && i < args->kind_count; i++)
		free(args->kinds[i].args);
	free(args->kinds);
	*args = (struct chrome_args){0};
}

bool chrome_takes_no_time(const struct view_event *event)
{
	return event->kind->number == KIND_sync &&
	       ((const struct record_sync *)event->record)->type ==
		       VALUE_sync_type_stream_wait_event;
}

bool chrome_total_is_drawn(const struct view_event *event)
{
	static const u16 left_out[VIEW_ROW_KINDS_MAX] = {KIND_growth, KIND_thread_time,
							 KIND_short_wait};

	return !view_row_is_of(left_out, event->kind->number);
}

const char *chrome_args_category(const struct chrome_args *args, const struct view_event *event)
{
	const struct chrome_kind *found = chrome_kind(args, event->kind);

	if (event->computed)
		return "computed";
	for (size_t i = 0; i < found->category_count; i++) {
		const struct chrome_category *category = &found->categories[i];
		struct view_value value;

		if (!category->key)
			return category->category;
		value = view_value(args->view, category->key, event);
		if (value.type == VALUE_STRING && strcmp(value.string, category->value) == 0)
			return category->category;
	}
	return event->kind->tag;
}

/* ---- values ---- */

static void append_array(struct text *text, const struct view_value *value)
{
	text_append_char(text, '[');
	for (unsigned i = 0; i < value->count; i++) {
		if (i)
			text_append_char(text, ',');
		json_append_number(text, value->numbers[i]);
	}
	text_append_char(text, ']');
}

/* With a point, so that readers do not take a column for one of integers. */
static void append_decimal(struct text *text, double decimal)
{
	size_t start = text->length;

	text_appendf(text, "%.9g", decimal);
	if (!text->failed && !strpbrk(text->data + start, ".e"))
		text_append(text, ".0");
}

void chrome_args_append_value(struct text *text, const struct view_value *value)
{
	switch (value->type) {
	case VALUE_STRING:
		json_append_string(text, value->string);
		break;
	case VALUE_HEX:
		json_append_hex(text, value->number);
		break;
	case VALUE_S64:
		json_append_signed(text, value->number);
		break;
	case VALUE_DECIMAL:
		append_decimal(text, value->decimal);
		break;
	case VALUE_ARRAY:
		append_array(text, value);
		break;
	default:
		json_append_number(text, value->number);
	}
}

static bool goes_without_saying(const struct view_value *value, const struct chrome_arg *arg)
{
	if (value->type == VALUE_ABSENT)
		return true;
	if (!arg->unless)
		return false;
	return value->type == VALUE_STRING ? strcmp(value->string, arg->unless) == 0
					   : value->number == arg->unless_number;
}

const char *chrome_args_next(const struct chrome_args *args, const struct view_event *event,
			     size_t *place, struct view_value *ret_value)
{
	const struct chrome_kind *found = chrome_kind(args, event->kind);

	for (size_t i = *place; i < found->count; i++) {
		const struct chrome_arg *arg = &found->args[i];
		const struct view_value value = view_value(args->view, arg->key, event);

		if (goes_without_saying(&value, arg))
			continue;
		*ret_value = value;
		*place = i + 1;
		return arg->name;
	}
	*place = found->count;
	return NULL;
}

/* The name of one arg. object: the one that is open, NULL: none; returns the one that is open now. */
static const char *append_name(struct text *text, const char *name, const char *object, bool first)
{
	const char *arrow = strchr(name, '>');
	size_t length = arrow ? (size_t)(arrow - name) : 0;
	bool same = object && arrow && !strncmp(object, name, length + 1);

	if (object && !same)
		text_append_char(text, '}');
	if (!first)
		text_append_char(text, ',');
	if (arrow && !same) {
		text_append_char(text, '"');
		text_append_bytes(text, name, length);
		text_append(text, "\":{");
	}
	text_append_char(text, '"');
	text_append(text, arrow ? arrow + 1 : name);
	text_append(text, "\":");
	return arrow ? name : NULL;
}

/* A counter of gpuprobe.h: its value alone. */
static void append_counter(struct text *text, const struct view_event *event)
{
	text_append(text, ",\"args\":{\"value\":");
	json_append_signed(text, args_counter_value(event));
	text_append_char(text, '}');
}

void chrome_args_append(const struct chrome_args *args, const struct view_event *event,
			struct text *text)
{
	const char *name, *object = NULL;
	size_t start, before, place = 0;
	struct view_value value;
	struct chrome_code code;

	if (view_annotation(args->view, event) == VALUE_usdt_annotation_counter) {
		append_counter(text, event);
		return;
	}
	chrome_code_find(args->view, event, &code);
	chrome_code_append_loc(&code, text);
	start = text->length;
	text_append(text, ",\"args\":{");
	before = text->length;
	while ((name = chrome_args_next(args, event, &place, &value))) {
		object = append_name(text, name, object, text->length == before);
		chrome_args_append_value(text, &value);
	}
	if (object)
		text_append_char(text, '}');
	args_append_tail(text, args->view, event, before);
	if (event->open)
		text_append(text, text->length == before ? "\"open\":true" : ",\"open\":true");
	if (code.stack) {
		text_append(text, text->length == before ? "" : ",");
		chrome_code_append_args(args->view, event, &code, text);
	}
	if (text->length == before)
		text->length = start;
	else
		text_append_char(text, '}');
}
