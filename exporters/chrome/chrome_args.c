#include "exporters/chrome/chrome_args.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "exporters/args.h"

/* clang-format off */
/* Kinds without a row show all their fields, by their own names. */
static const struct chrome_arg_row {
	const char *kind;
	const char *key;    /* of view_key() */
	const char *name;   /* in the args; "object>name": within an object, whose rows stand together */
	const char *unless; /* this value goes without saying */
} chrome_arg_rows[] = {
	{"call",         "probe.address",                "address",                    NULL},
	{"call",         "probe.binary",                 "binary",                     NULL},
	{"call",         "ended",                        "ended",                      "returned"},
	{"entry",        "probe.address",                "address",                    NULL},
	{"entry",        "probe.binary",                 "binary",                     NULL},
	{"entry",        "reason",                       "reason",                     NULL},

	{"api",          "callback",                     "cbid",                       NULL},
	{"api",          "unique_correlation",           "correlation",                NULL},
	{"api",          "outer_correlation",            "correlation of the outer call", NULL},
	{"api",          "result",                       "result",                     "0"},

	{"kernel",       "queued",                       "queued",                     NULL},
	{"kernel",       "device_number",                "device",                     NULL},
	{"kernel",       "context_number",               "context",                    NULL},
	{"kernel",       "stream_number",                "stream",                     NULL},
	{"kernel",       "unique_correlation",           "correlation",                NULL},
	{"kernel",       "registers_per_thread",         "registers per thread",       NULL},
	{"kernel",       "shared_memory_bytes",          "shared memory",              NULL},
	{"kernel",       "blocks_per_sm",                "blocks per SM",              NULL},
	{"kernel",       "warps_per_sm",                 "warps per SM",               NULL},
	{"kernel",       "grid",                         "grid",                       NULL},
	{"kernel",       "block",                        "block",                      NULL},
	{"kernel",       "cluster",                      "cluster",                    NULL},
	{"kernel",       "occupancy_estimate",           "est. achieved occupancy %",  NULL},
	{"kernel",       "occupancy_active_blocks",      "occupancy>activeBlocksPerMultiprocessor", NULL},
	{"kernel",       "occupancy_factors",            "occupancy>limitingFactors",  NULL},
	{"kernel",       "occupancy_registers",          "occupancy>blockLimitRegs",   NULL},
	{"kernel",       "occupancy_shared_memory",      "occupancy>blockLimitSharedMem", NULL},
	{"kernel",       "occupancy_warps",              "occupancy>blockLimitWarps",  NULL},
	{"kernel",       "occupancy_blocks",             "occupancy>blockLimitBlocks", NULL},
	{"kernel",       "block_registers",              "occupancy>allocatedRegistersPerBlock", NULL},
	{"kernel",       "block_shared_memory_bytes",    "occupancy>allocatedSharedMemPerBlock", NULL},
	{"kernel",       "occupancy",                    "theoretical occupancy %",    NULL},
	{"kernel",       "occupancy_limit",              "occupancy limited by",       NULL},
	{"kernel",       "graph",                        "graph id",                   NULL},
	{"kernel",       "graph_node",                   "graph node id",              NULL},
	{"kernel",       "channel",                      "channel",                    NULL},
	{"kernel",       "channel_type",                 "channel_type",               NULL},
	{"kernel",       "launch",                       "launch type",                "regular"},
	{"kernel",       "priority",                     "priority",                   NULL},
	{"kernel",       "device_launched",              "launched by a kernel",       "no"},
	{"kernel",       "launch_delay_ns",              "launch delay (ns)",          NULL},
	{"kernel",       "queue_ns",                     "queue time (ns)",            NULL},
	{"kernel",       "matmul",                       "matrix product (m, n, k, batch)", NULL},
	{"kernel",       "matmul_flops",                 "floating-point operations",  NULL},
	{"kernel",       "mangled",                      "mangled",                    NULL},

	{"copy",         "device_number",                "device",                     NULL},
	{"copy",         "context_number",               "context",                    NULL},
	{"copy",         "stream_number",                "stream",                     NULL},
	{"copy",         "unique_correlation",           "correlation",                NULL},
	{"copy",         "bytes",                        "bytes",                      NULL},
	{"copy",         "bandwidth",                    "memory bandwidth (GB/s)",    NULL},
	{"copy",         "source_device_number",         "fromDevice",                 NULL},
	{"copy",         "destination_device_number",    "toDevice",                   NULL},
	{"copy",         "graph",                        "graph id",                   NULL},
	{"copy",         "graph_node",                   "graph node id",              NULL},
	{"copy",         "channel",                      "channel",                    NULL},
	{"copy",         "channel_type",                 "channel_type",               NULL},
	{"copy",         "async",                        "async",                      NULL},
	{"copy",         "launch_delay_ns",              "launch delay (ns)",          NULL},

	{"set",          "device_number",                "device",                     NULL},
	{"set",          "context_number",               "context",                    NULL},
	{"set",          "stream_number",                "stream",                     NULL},
	{"set",          "unique_correlation",           "correlation",                NULL},
	{"set",          "bytes",                        "bytes",                      NULL},
	{"set",          "value",                        "value",                      NULL},
	{"set",          "bandwidth",                    "memory bandwidth (GB/s)",    NULL},
	{"set",          "graph",                        "graph id",                   NULL},
	{"set",          "graph_node",                   "graph node id",              NULL},
	{"set",          "channel",                      "channel",                    NULL},
	{"set",          "channel_type",                 "channel_type",               NULL},
	{"set",          "launch_delay_ns",              "launch delay (ns)",          NULL},

	{"sync",         "type_word",                    "cuda_sync_kind",             NULL},
	{"sync",         "stream_number",                "stream",                     NULL},
	{"sync",         "unique_correlation",           "correlation",                NULL},
	{"sync",         "device_number",                "device",                     NULL},
	{"sync",         "context_number",               "context",                    NULL},
	{"sync",         "recorded_in",                  "wait_on_stream",             NULL},
	{"sync",         "recorded_by",                  "wait_on_cuda_event_record_corr_id", NULL},
	{"sync",         "event",                        "wait_on_cuda_event_id",      NULL},
	{"sync",         "result",                       "result",                     "0"},

	{"graph_launch", "device_number",                "device",                     NULL},
	{"graph_launch", "context_number",               "context",                    NULL},
	{"graph_launch", "stream_number",                "stream",                     NULL},
	{"graph_launch", "unique_correlation",           "correlation",                NULL},
	{"graph_launch", "graph",                        "graph id",                   NULL},
	{"graph_launch", "launch_delay_ns",              "launch delay (ns)",          NULL},
	{"graph_launch", "queue_ns",                     "queue time (ns)",            NULL},

	{"gpu_event",    "event",                        "event_id",                   NULL},
	{"gpu_event",    "stream_number",                "stream",                     NULL},
	{"gpu_event",    "unique_correlation",           "correlation",                NULL},
	{"gpu_event",    "device_number",                "device",                     NULL},
	{"gpu_event",    "context_number",               "context",                    NULL},

	{"gpu_memory",   "device_number",                "device",                     NULL},
	{"gpu_memory",   "context_number",               "context",                    NULL},
	{"gpu_memory",   "stream_number",                "stream of the pool",         NULL},
	{"gpu_memory",   "unique_correlation",           "correlation",                NULL},
	{"gpu_memory",   "address",                      "address",                    NULL},
	{"gpu_memory",   "bytes",                        "bytes",                      NULL},
	{"gpu_memory",   "pool",                         "pool",                       NULL},
	{"gpu_memory",   "pool_bytes",                   "pool bytes",                 NULL},
	{"gpu_memory",   "pool_used_bytes",              "pool bytes in use",          NULL},

	{"gpu_pool",     "device_number",                "device",                     NULL},
	{"gpu_pool",     "unique_correlation",           "correlation",                NULL},
	{"gpu_pool",     "address",                      "address",                    NULL},
	{"gpu_pool",     "bytes",                        "bytes",                      NULL},
	{"gpu_pool",     "used_bytes",                   "bytes in use",               NULL},
	{"gpu_pool",     "kept_bytes",                   "bytes kept at least",        NULL},

	{"migration",    "value",                        "value",                      NULL},
	{"migration",    "address",                      "address",                    NULL},
	{"migration",    "source_device_number",         "fromDevice",                 NULL},
	{"migration",    "destination_device_number",    "toDevice",                   NULL},
	{"migration",    "migration_cause",              "cause",                      NULL},
	{"migration",    "access",                       "access",                     NULL},

	/* Of counters each is a track, whose name begins with the event's. */
	{"usdt_span",    "usdt.binary",                  "binary",                     NULL},
	{"usdt_span",    "ended",                        "ended",                      "ended"},
	{"usdt_point",   "usdt.binary",                  "binary",                     NULL},

	{"mapping",      "bytes",                        "bytes",                      NULL},
	{"mapping",      "mapped_bytes",                 "address space (bytes)",      NULL},

	{"growth",       "dur",                          "in (ns)",                    NULL},
	{"growth",       "maps",                         "maps",                       NULL},
	{"growth",       "mapped_bytes",                 "mapped (bytes)",             NULL},
	{"growth",       "unmaps",                       "unmaps",                     NULL},
	{"growth",       "unmapped_bytes",               "unmapped (bytes)",           NULL},
	{"growth",       "faults",                       "page faults",                NULL},
	{"growth",       "faulted_bytes",                "faulted (bytes)",            NULL},

	{"process_memory", "resident_bytes",             "resident",                   NULL},
	{"process_memory", "mapped_bytes",               "address space",              NULL},

	{"off_cpu",      "reason",                       "reason",                     NULL},
	{"off_cpu",      "runnable_ns",                  "waited for a CPU (ns)",      NULL},
	{"off_cpu",      "woken_by",                     "woken by",                   NULL},
	{"off_cpu",      "waker_pid",                    "process that woke it",       NULL},
	{"off_cpu",      "waker_tid",                    "thread that woke it",        NULL},
	{"off_cpu",      "before",                       "since before the window",    NULL},
	{"off_cpu",      "from_cpu",                     "CPU before",                 NULL},
	{"off_cpu",      "to_cpu",                       "CPU after",                  NULL},

	{"gpu_environment", "sm_clock_mhz",              "SM clock (MHz)",             NULL},
	{"gpu_environment", "memory_clock_mhz",          "memory clock (MHz)",         NULL},
	{"gpu_environment", "temperature_celsius",       "temperature (degrees C)",    NULL},
	{"gpu_environment", "power_milliwatts",          "power (mW)",                 NULL},
	{"gpu_environment", "power_limit_milliwatts",    "power limit (mW)",           NULL},
	{"gpu_environment", "fan_percent",               "fan speed (%)",              NULL},

	{"probing",      "percent",                      "overhead (% of CPU time)",   NULL},

	{"function_total", "calls",                      "calls",                      NULL},
	{"function_total", "timed_calls",                "calls seen to end",          NULL},
	{"function_total", "time_ns",                    "total (ns)",                 NULL},
	{"function_total", "average_ns",                 "average (ns)",               NULL},
	{"function_total", "minimum_ns",                 "minimum (ns)",               NULL},
	{"function_total", "maximum_ns",                 "maximum (ns)",               NULL},
	{"function_total", "distribution",               "distribution",               NULL},
	{"function_total", "probe.address",              "address",                    NULL},
	{"function_total", "probe.binary",               "binary",                     NULL},

	{"overhead",     "unique_correlation",           "correlation",                NULL},
	{"overhead",     "type",                         "type",                       NULL},

	{"range",         "domain",                        "domain",                     NULL},
	{"range",         "category_name",                 "category name",              NULL},
	{"range",         "category",                      "category",                   NULL},
	{"range",         "color",                         "color",                      NULL},
	{"range",         "payload",                       "payload",                    NULL},
	{"range",         "payload_signed",                "payload",                    NULL},
	{"range",         "payload_double",                "payload",                    NULL},
	{"range",         "ended",                         "ended",                      "ended"},
	{"process_range", "domain",                        "domain",                     NULL},
	{"process_range", "category_name",                 "category name",              NULL},
	{"process_range", "category",                      "category",                   NULL},
	{"process_range", "color",                         "color",                      NULL},
	{"process_range", "payload",                       "payload",                    NULL},
	{"process_range", "payload_signed",                "payload",                    NULL},
	{"process_range", "payload_double",                "payload",                    NULL},
	{"process_range", "ended",                         "ended",                      "ended"},
	{"mark",          "domain",                        "domain",                     NULL},
	{"mark",          "category_name",                 "category name",              NULL},
	{"mark",          "category",                      "category",                   NULL},
	{"mark",          "color",                         "color",                      NULL},
	{"mark",          "payload",                       "payload",                    NULL},
	{"mark",          "payload_signed",                "payload",                    NULL},
	{"mark",          "payload_double",                "payload",                    NULL},
};

static const struct chrome_category_row {
	const char *kind;
	const char *key;   /* NULL: all of the kind */
	const char *value; /* of that key */
	const char *category;
} chrome_category_rows[] = {
	{"api",      "domain", "driver", "cuda_driver"},
	{"api",      NULL,     NULL,     "cuda_runtime"},
	{"copy",     NULL,     NULL,     "gpu_memcpy"},
	{"set",      NULL,     NULL,     "gpu_memset"},
	{"sync",     NULL,     NULL,     "cuda_sync"},
	{"gpu_event", NULL,    NULL,     "cuda_event"},
	{"range",    NULL,     NULL,     "user_annotation"},
	{"process_range", NULL, NULL,    "user_annotation"},
	{"mark",     NULL,     NULL,     "user_annotation"},
	{"usdt_span",  "usdt.annotation", "range", "user_annotation"},
	{"usdt_point", "usdt.annotation", "mark",  "user_annotation"},
};
/* clang-format on */

struct chrome_arg {
	const char *name;
	const char *unless;
	const struct view_key *key;
};

struct chrome_category {
	const struct view_key *key; /* NULL: all */
	const char *value;
	const char *category;
};

#define CATEGORIES_MAX 2

/* The args of one kind, looked up in the view that is written. */
struct chrome_kind {
	struct chrome_arg *args;
	size_t count;
	size_t capacity;
	struct chrome_category categories[CATEGORIES_MAX]; /* the first that fits; else the tag */
	size_t category_count;
};

static const struct chrome_kind *chrome_kind(const struct chrome_args *args,
					     const struct schema_kind *kind)
{
	size_t count;

	return &args->kinds[kind - schema_kinds(&count)];
}

static int chrome_add_arg(const struct chrome_args *args, struct chrome_kind *found,
			  const struct schema_kind *kind, const struct chrome_arg_row *row)
{
	const struct view_key *key = view_key(args->view, kind, row->key);

	if (!key || array_reserve(&found->args, &found->capacity, found->count + 1) < 0)
		return -ENOMEM;
	found->args[found->count++] =
		(struct chrome_arg){.name = row->name, .unless = row->unless, .key = key};
	return 0;
}

static int chrome_find_args_of_kind(const struct chrome_args *args, struct chrome_kind *found,
				    const struct schema_kind *kind)
{
	int result = 0;

	for (size_t i = 0; i < ARRAY_SIZE(chrome_arg_rows) && result == 0; i++)
		if (strcmp(chrome_arg_rows[i].kind, kind->tag) == 0)
			result = chrome_add_arg(args, found, kind, &chrome_arg_rows[i]);
	if (found->count)
		return result;
	for (size_t i = 0; i < kind->field_count && result == 0; i++) {
		const char *name = kind->fields[i].name;
		const struct chrome_arg_row row = {.key = name, .name = name};

		if (kind->fields[i].unit != UNIT_PAD)
			result = chrome_add_arg(args, found, kind, &row);
	}
	return result;
}

static int chrome_find_categories(const struct chrome_args *args, struct chrome_kind *found,
				  const struct schema_kind *kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(chrome_category_rows); i++) {
		const struct chrome_category_row *row = &chrome_category_rows[i];
		struct chrome_category *category = &found->categories[found->category_count];

		if (strcmp(row->kind, kind->tag) != 0 || found->category_count == CATEGORIES_MAX)
			continue;
		*category =
			(struct chrome_category){.value = row->value, .category = row->category};
		if (row->key)
			category->key = view_key(args->view, kind, row->key);
		if (row->key && !category->key)
			return -ENOMEM;
		found->category_count++;
	}
	return 0;
}

int chrome_args_find(struct chrome_args *args, const struct view *view)
{
	const struct schema_kind *kinds = schema_kinds(&args->kind_count);
	int result = 0;

	args->view = view;
	args->kinds = calloc(args->kind_count, sizeof(*args->kinds));
	if (!args->kinds)
		return -ENOMEM;
	for (size_t i = 0; i < args->kind_count && result == 0; i++) {
		if (kinds[i].shape == SHAPE_FACT)
			continue;
		result = chrome_find_args_of_kind(args, &args->kinds[i], &kinds[i]);
		if (result == 0)
			result = chrome_find_categories(args, &args->kinds[i], &kinds[i]);
	}
	return result;
}

void chrome_args_free(struct chrome_args *args)
{
	for (size_t i = 0; args->kinds && i < args->kind_count; i++)
		free(args->kinds[i].args);
	free(args->kinds);
	*args = (struct chrome_args){0};
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

static void append_value(struct text *text, const struct view_value *value)
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

static bool goes_without_saying(const struct view_value *value, const char *unless)
{
	if (value->type == VALUE_ABSENT)
		return true;
	if (!unless)
		return false;
	return value->type == VALUE_STRING ? strcmp(value->string, unless) == 0
					   : value->number == strtoull(unless, NULL, 10);
}

/* The functions, innermost first. */
static void append_stack(const struct view *view, struct text *text,
			 const struct record_header *record)
{
	_cleanup_text_ struct text frame = {0};
	const struct view_frame *frames;
	bool cut;
	size_t count = view_frames(view, record->pid, record->stack, &frames, &cut);

	text_append(text, "\"stack\":[");
	for (size_t i = 0; i < count; i++) {
		text_clear(&frame);
		view_frame_append(&frames[i], &frame);
		text_append(text, i ? "," : "");
		json_append_string(text, text_string(&frame));
	}
	if (cut)
		text_append(text, count ? ",\"" VIEW_FRAME_CUT "\"" : "\"" VIEW_FRAME_CUT "\"");
	text_append_char(text, ']');
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

/* A counter of gpuprobe.h: its value alone, since each arg is a track. */
static void append_counter(struct text *text, const struct view_event *event)
{
	text_append(text, ",\"args\":{\"value\":");
	json_append_signed(text, args_counter_value(event));
	text_append_char(text, '}');
}

void chrome_args_append(const struct chrome_args *args, const struct view_event *event,
			struct text *text)
{
	const char *object = NULL;
	const struct chrome_kind *found = chrome_kind(args, event->kind);
	size_t start = text->length, before;

	if (view_annotation(args->view, event) == VALUE_usdt_annotation_counter) {
		append_counter(text, event);
		return;
	}
	text_append(text, ",\"args\":{");
	before = text->length;
	for (size_t i = 0; i < found->count; i++) {
		const struct chrome_arg *arg = &found->args[i];
		struct view_value value = view_value(args->view, arg->key, event);

		if (goes_without_saying(&value, arg->unless))
			continue;
		object = append_name(text, arg->name, object, text->length == before);
		append_value(text, &value);
	}
	if (object)
		text_append_char(text, '}');
	args_append_tail(text, args->view, event, before);
	if (event->open)
		text_append(text, text->length == before ? "\"open\":true" : ",\"open\":true");
	if (event->record->stack) {
		text_append(text, text->length == before ? "" : ",");
		append_stack(args->view, text, event->record);
	}
	if (text->length == before)
		text->length = start;
	else
		text_append_char(text, '}');
}

bool chrome_args_any(const struct chrome_args *args, const struct view_event *event)
{
	const struct chrome_kind *found = chrome_kind(args, event->kind);

	for (size_t i = 0; i < found->count; i++)
		if (view_value(args->view, found->args[i].key, event).type != VALUE_ABSENT)
			return true;
	return false;
}
