/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/perfetto/perfetto_launches.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "view/occupancy.h"

/* The names that Perfetto's tables and its tab for compute kernels look for, as far as there are such; ours for all else. */
/* clang-format off */
static const struct chrome_arg_row shape_args[] = {
	{{VIEW_GPU_WORK},                    "device_number",                "device",                                NULL},
	{{VIEW_GPU_WORK},                    "context_number",               "context",                               NULL},
	{{VIEW_GPU_WORK},                    "stream_number",                "stream",                                NULL},
	{{KIND_kernel},                      "registers_per_thread",         "registers_per_thread",                  NULL},
	{{KIND_kernel},                      "static_shared_memory_bytes",   "shared_mem_static",                     NULL},
	{{KIND_kernel},                      "dynamic_shared_memory_bytes",  "shared_mem_dynamic",                    NULL},
	{{KIND_kernel},                      "executed_shared_memory_bytes", "shared_mem_config_size",                NULL},
	{{KIND_kernel},                      "blocks_per_sm",                "blocks_per_multiprocessor",             NULL},
	{{KIND_kernel},                      "warps_per_sm",                 "warps_per_multiprocessor",              NULL},
	{{KIND_kernel},                      "occupancy_blocks",             "occupancy_limit_blocks",                NULL},
	{{KIND_kernel},                      "occupancy_registers",          "occupancy_limit_registers",             NULL},
	{{KIND_kernel},                      "occupancy_shared_memory",      "occupancy_limit_shared_mem",            NULL},
	{{KIND_kernel},                      "occupancy_warps",              "occupancy_limit_warps",                 NULL},
	{{KIND_kernel},                      "occupancy",                    "sm__maximum_warps_per_active_cycle_pct", NULL},
	{{KIND_kernel},                      "occupancy_limit",              "occupancy_limited_by",                  NULL},
	{{KIND_kernel},                      "occupancy_estimate",           "occupancy_estimate",                    NULL},
	{{KIND_kernel},                      "cluster",                      "cluster_size",                          NULL},
	{{KIND_copy, KIND_set},              "bytes",                        "bytes",                                 NULL},
	{{KIND_copy, KIND_set},              "bandwidth",                    "bandwidth_gb_s",                        NULL},
	{{KIND_set},                         "value",                        "value",                                 NULL},
	{{KIND_copy},                        "direction",                    "direction",                             NULL},
	{{KIND_copy},                        "source_device_number",         "source_device",                         NULL},
	{{KIND_copy},                        "destination_device_number",    "destination_device",                    NULL},
	{{KIND_copy},                        "async",                        "async",                                 NULL},
	{{VIEW_GPU_WORK},                    "graph",                        "graph",                                 NULL},
	{{KIND_kernel, KIND_copy, KIND_set}, "channel",                      "channel",                               NULL},
	{{KIND_kernel, KIND_copy, KIND_set}, "channel_type",                 "channel_type",                          NULL},
	{{KIND_kernel},                      "launch",                       "launch_type",                           "regular"},
	{{KIND_kernel},                      "priority",                     "priority",                              NULL},
	{{KIND_kernel},                      "device_launched",              "device_launched",                       "no"},
};

/* For kernels these, and only these, may come from more than the fields of shape_of() and facts. */
static const struct chrome_arg_row run_args[] = {
	{{VIEW_GPU_WORK},                    "unique_correlation",           "correlation",                           NULL},
	{{KIND_kernel, KIND_copy, KIND_set}, "graph_node",                   "graph_node",                            NULL},
	{{VIEW_GPU_WORK},                    "within",                       "within",                                NULL},
	{{VIEW_GPU_WORK},                    "within_by",                    "within_by",                             "own"},
	{{VIEW_GPU_WORK},                    "launch_delay_ns",              "launch_delay_ns",                       NULL},
	{{KIND_kernel, KIND_graph_launch},   "queue_ns",                     "queue_ns",                              NULL},
	{{KIND_kernel},                      "matmul",                       "matmul_m_n_k_batch",                    NULL},
	{{KIND_kernel},                      "matmul_flops",                 "matmul_flops",                          NULL},
};
/* clang-format on */

/* ---- arguments ---- */

static void append_size(struct text *body, u32 field, const u32 size[3])
{
	size_t begun = protobuf_begin(body, field);

	for (u32 i = 0; i < 3; i++)
		protobuf_number(body, i + 1, size[i]);
	protobuf_end(body, begun);
}

static void append_array(struct text *body, const struct view_value *value)
{
	struct text numbers _cleanup_text_ = {0};

	for (unsigned i = 0; i < value->count; i++)
		text_appendf(&numbers, i ? ", %llu" : "%llu",
			     (unsigned long long)value->numbers[i]);
	protobuf_string(body, ARG_STRING, text_string(&numbers));
	body->failed |= numbers.failed;
}

static void append_arg(struct perfetto_packets *packets, struct text *text, const char *name,
		       const struct view_value *value)
{
	u64 number = perfetto_intern_constant(packets, PERFETTO_KERNEL_ARG, name);
	size_t begun;

	if (value->type == VALUE_U64 || value->type == VALUE_HEX) {
		protobuf_numbers(text, LAUNCH_ARG, ARG_NAME, number, ARG_UNSIGNED, value->number);
		return;
	}
	begun = protobuf_begin(text, LAUNCH_ARG);
	protobuf_number(text, ARG_NAME, number);
	switch (value->type) {
	case VALUE_STRING:
		protobuf_string(text, ARG_STRING, text_utf8(value->string, &packets->scratch));
		break;
	case VALUE_S64:
		protobuf_number(text, ARG_SIGNED, value->number);
		break;
	case VALUE_DECIMAL:
		protobuf_double(text, ARG_DOUBLE, value->decimal);
		break;
	case VALUE_ARRAY:
		append_array(text, value);
		break;
	default:
		protobuf_number(text, ARG_UNSIGNED, value->number);
	}
	protobuf_end(text, begun);
}

static void append_number(struct perfetto_packets *packets, struct text *text, const char *name,
			  u64 number)
{
	const struct view_value value = {.type = VALUE_U64, .number = number};

	if (number)
		append_arg(packets, text, name, &value);
}

/* How often the multiprocessors are filled by the blocks of a grid. */
static void append_waves(struct perfetto_launches *launches, struct perfetto_packets *packets,
			 const struct record_kernel *kernel)
{
	const struct record_device *device =
		(const void *)view_fact(launches->view, KIND_device, kernel->device);
	struct view_value value = {.type = VALUE_DECIMAL};
	struct occupancy occupancy;

	if (!device || !device->multiprocessors || !kernel_blocks(kernel) ||
	    !occupancy_of(kernel, device, &occupancy) || !occupancy.blocks_per_multiprocessor)
		return;
	value.decimal = (double)kernel_blocks(kernel) / device->multiprocessors /
			occupancy.blocks_per_multiprocessor;
	append_arg(packets, &launches->shape, "waves_per_multiprocessor", &value);
}

/* Perfetto's tables and workflows look for sizes as numbers, too. */
static void append_sizes(struct perfetto_launches *launches, struct perfetto_packets *packets,
			 const struct record_kernel *kernel)
{
	u64 blocks = kernel_blocks(kernel), threads = kernel_threads(kernel), all;

	if (kernel->grid[0])
		append_size(&launches->shape, LAUNCH_GRID, kernel->grid);
	if (kernel->block[0])
		append_size(&launches->shape, LAUNCH_BLOCK, kernel->block);
	append_number(packets, &launches->shape, "grid_size", blocks);
	append_number(packets, &launches->shape, "workgroup_size", threads);
	if (!__builtin_mul_overflow(blocks, threads, &all))
		append_number(packets, &launches->shape, "thread_count", all);
	append_waves(launches, packets, kernel);
}

static void append_args(struct perfetto_packets *packets, struct text *text,
			const struct chrome_args *args, const struct view_event *event)
{
	struct view_value value;
	const char *name;
	size_t place = 0;

	while ((name = chrome_args_next(args, event, &place, &value)))
		append_arg(packets, text, name, &value);
}

/* ---- shapes ---- */

#define SHAPES 1024 /* a power of two */

/* A kernel's fields behind the header. */
#define SHAPE_BYTES (sizeof(struct record_kernel) - sizeof(struct record_header))

struct perfetto_shape {
	u64 state; /* in which its strings are interned; 0: none is here */
	u8 key[SHAPE_BYTES];
	struct text bytes;
};

/* All but what differs from run to run; names stand elsewhere. */
static void shape_of(const struct record_kernel *kernel, u8 key[SHAPE_BYTES])
{
	struct record_kernel shape = *kernel;

	shape.correlation = 0;
	shape.queued = shape.submitted = shape.completed = 0;
	shape.graph_node = 0;
	memcpy(key, &shape.header + 1, SHAPE_BYTES);
}

/* By what tells kernels apart most. */
static size_t place_of(const struct record_kernel *kernel)
{
	u64 numbers = (u64)kernel->grid[0] << 32 ^ (u64)kernel->grid[1] << 16 ^ kernel->grid[2] ^
		      (u64)kernel->block[0] << 40 ^ (u64)kernel->registers_per_thread << 8 ^
		      kernel->dynamic_shared_memory_bytes ^ (u64)kernel->stream << 24;

	return numbers * 0x9e3779b97f4a7c15ULL >> 48 & (SHAPES - 1);
}

static const struct text *kernel_shape(struct perfetto_launches *launches,
				       struct perfetto_packets *packets,
				       const struct view_event *event)
{
	const struct record_kernel *kernel = (const void *)event->record;
	struct perfetto_shape *shape = &launches->shapes[place_of(kernel)];
	u8 key[SHAPE_BYTES];

	shape_of(kernel, key);
	if (shape->state == packets->state && !memcmp(shape->key, key, sizeof(key)))
		return &shape->bytes;
	append_sizes(launches, packets, kernel);
	append_args(packets, &launches->shape, &launches->shape_args, event);
	shape->state = packets->state;
	memcpy(shape->key, key, sizeof(key));
	text_clear(&shape->bytes);
	text_append_bytes(&shape->bytes, launches->shape.data, launches->shape.length);
	return &shape->bytes;
}

/* ---- all of it ---- */

static int add_rows(struct chrome_args *args, const struct view *view,
		    const struct chrome_arg_row *rows, size_t count, struct err *err)
{
	int result = chrome_args_begin(args, view, err);

	for (size_t i = 0; i < count && result == 0; i++)
		result = chrome_args_add(args, &rows[i], err);
	return result;
}

int perfetto_launches_make(struct perfetto_launches *launches, const struct view *view,
			   struct err *err)
{
	int result = add_rows(&launches->shape_args, view, shape_args, ARRAY_SIZE(shape_args), err);

	if (result == 0)
		result = add_rows(&launches->run_args, view, run_args, ARRAY_SIZE(run_args), err);
	if (result < 0)
		return result;
	launches->view = view;
	launches->shapes = calloc(SHAPES, sizeof(*launches->shapes));
	return launches->shapes ? 0 : err_set(err, -ENOMEM, "can't write a trace: out of memory");
}

void perfetto_launches_append(struct perfetto_launches *launches, struct perfetto_packets *packets,
			      const struct view_event *event)
{
	const struct text *shape = &launches->shape;
	struct text *body = &packets->body, *run = &launches->run;

	if (event->kind->number == KIND_kernel)
		shape = kernel_shape(launches, packets, event);
	else
		append_args(packets, &launches->shape, &launches->shape_args, event);
	append_args(packets, run, &launches->run_args, event);
	protobuf_head(body, STAGE_LAUNCH, shape->length + run->length);
	text_append_bytes(body, shape->data, shape->length);
	text_append_bytes(body, run->data, run->length);
	body->failed |= shape->failed | launches->shape.failed | run->failed;
	text_clear(&launches->shape);
	text_clear(run);
}

void perfetto_launches_free(struct perfetto_launches *launches)
{
	for (size_t i = 0; launches->shapes && i < SHAPES; i++)
		text_free(&launches->shapes[i].bytes);
	free(launches->shapes);
	chrome_args_free(&launches->shape_args);
	chrome_args_free(&launches->run_args);
	text_free(&launches->shape);
	text_free(&launches->run);
	*launches = (struct perfetto_launches){0};
}
