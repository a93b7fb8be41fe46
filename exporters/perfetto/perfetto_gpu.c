/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/perfetto/perfetto_gpu.h"

#include <errno.h>

#include "base/cleanup.h"
#include "view/occupancy.h"

#define GPUS_MAX 1024 /* facts come from targets */

/* The names that Perfetto's tables and its tab for compute kernels look for, as far as there are such; ours for all else. */
/* clang-format off */
static const struct chrome_arg_row gpu_args[] = {
	{{VIEW_GPU_WORK},                    "device_number",                "device",                                NULL},
	{{VIEW_GPU_WORK},                    "context_number",               "context",                               NULL},
	{{VIEW_GPU_WORK},                    "stream_number",                "stream",                                NULL},
	{{VIEW_GPU_WORK},                    "unique_correlation",           "correlation",                           NULL},
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
	{{KIND_kernel, KIND_copy, KIND_set}, "graph_node",                   "graph_node",                            NULL},
	{{KIND_kernel, KIND_copy, KIND_set}, "channel",                      "channel",                               NULL},
	{{KIND_kernel, KIND_copy, KIND_set}, "channel_type",                 "channel_type",                          NULL},
	{{KIND_kernel},                      "launch",                       "launch_type",                           "regular"},
	{{KIND_kernel},                      "priority",                     "priority",                              NULL},
	{{KIND_kernel},                      "device_launched",              "device_launched",                       "no"},
	{{VIEW_GPU_WORK},                    "within",                       "within",                                NULL},
	{{VIEW_GPU_WORK},                    "within_by",                    "within_by",                             "own"},
	{{VIEW_GPU_WORK},                    "launch_delay_ns",              "launch_delay_ns",                       NULL},
	{{KIND_kernel, KIND_graph_launch},   "queue_ns",                     "queue_ns",                              NULL},
	{{KIND_kernel},                      "matmul",                       "matmul_m_n_k_batch",                    NULL},
	{{KIND_kernel},                      "matmul_flops",                 "matmul_flops",                          NULL},
};

/* The kinds of work; a place + 1 is its number among what is interned. */
static const struct {
	u16 kind;
	const char *name;
	u32 category; /* 0: other */
} stages[] = {
	{KIND_kernel,       "Kernel",       CATEGORY_COMPUTE},
	{KIND_copy,         "Memcpy",       0},
	{KIND_set,          "Memset",       0},
	{KIND_graph_launch, "Graph launch", 0},
};
/* clang-format on */

/* ---- GPUs ---- */

static void append_more(struct text *body, const char *key, u64 value)
{
	struct text number _cleanup_text_ = {0};
	size_t begun;

	if (!value)
		return;
	begun = protobuf_begin(body, GPU_MORE);
	text_appendf(&number, "%llu", (unsigned long long)value);
	protobuf_string(body, MORE_KEY, key);
	protobuf_string(body, MORE_VALUE, text_string(&number));
	protobuf_end(body, begun);
	body->failed |= number.failed;
}

static void append_gpu(struct perfetto_packets *packets, const struct view *view,
		       const struct record_device *device)
{
	const struct record_gpu_at_attach *attach = view_gpu_at_attach(view, device->id);
	const char *name = view_text(view, device->header.name);
	struct text *body = &packets->body, text _cleanup_text_ = {0};
	size_t begun = protobuf_begin(body, GPUS_GPU);

	perfetto_append_string(packets, GPU_NAME, name ? name : "GPU");
	protobuf_string(body, GPU_VENDOR, "NVIDIA");
	if (device->compute_major) {
		text_appendf(&text, "sm_%u%u", device->compute_major,
			     device->compute_minor == ~0U ? 0 : device->compute_minor);
		protobuf_string(body, GPU_ARCHITECTURE, text_string(&text));
	}
	for (size_t i = 0; i < sizeof(device->uuid); i++)
		if (device->uuid[i]) {
			protobuf_bytes(body, GPU_UUID, device->uuid, sizeof(device->uuid));
			break;
		}
	if (attach && attach->pci_bus != ~0U) {
		text_clear(&text);
		text_appendf(&text, "%04x:%02x:%02x.0", attach->pci_domain, attach->pci_bus,
			     attach->pci_device);
		protobuf_string(body, GPU_PCI, text_string(&text));
	}
	append_more(body, "memory (bytes)", device->memory_bytes);
	append_more(body, "multiprocessors", device->multiprocessors);
	append_more(body, "core clock (kHz)", device->core_clock_khz);
	protobuf_end(body, begun);
	body->failed |= text.failed;
}

/* A GPU has one number for all processes, which know it by facts of their own. */
static int find_gpus(struct perfetto_gpu *gpu, struct perfetto_packets *packets)
{
	size_t count, gpus = 0;
	const struct record_header *const *devices = view_facts(gpu->view, KIND_device, &count);

	for (size_t i = 0; i < count && gpus < GPUS_MAX; i++) {
		const struct record_device *device = (const struct record_device *)devices[i];
		u64 number = gpus;

		if (!device)
			continue;
		for (size_t j = 0; j < i; j++)
			if (devices[j] && view_is_same_gpu(devices[i], devices[j])) {
				number = *map_find(&gpu->gpus,
						   ((const struct record_device *)devices[j])->id,
						   0);
				break;
			}
		if (map_set(&gpu->gpus, device->id, 0, number) < 0)
			return -ENOMEM;
		if (number == gpus) {
			append_gpu(packets, gpu->view, device);
			gpus++;
		}
	}
	return (int)gpus;
}

int perfetto_gpu_make(struct perfetto_gpu *gpu, struct perfetto_packets *packets,
		      const struct view *view, struct err *err)
{
	int gpus, result;

	gpu->view = view;
	result = chrome_args_begin(&gpu->args, view, err);
	for (size_t i = 0; i < ARRAY_SIZE(gpu_args) && result == 0; i++)
		result = chrome_args_add(&gpu->args, &gpu_args[i], err);
	if (result < 0)
		return result;
	gpus = find_gpus(gpu, packets);
	if (gpus < 0)
		return err_errno(err, gpus, "can't write %s", packets->writer.path);
	return gpus ? perfetto_packet_write_timeless(packets, PACKET_GPU_INFO, err) : 0;
}

bool perfetto_gpu_is_known(struct perfetto_gpu *gpu, const struct view_row *row)
{
	return map_find(&gpu->gpus, row->device, 0);
}

u32 perfetto_gpu_number(struct perfetto_gpu *gpu, const struct view_row *row)
{
	const u64 *number = map_find(&gpu->gpus, row->device, 0);

	return number ? (u32)*number : 0;
}

bool perfetto_gpu_takes(const struct view_event *event)
{
	static const u16 work[VIEW_ROW_KINDS_MAX] = {VIEW_GPU_WORK};

	return event->row->type == ROW_STREAM && view_row_is_of(work, event->kind->number);
}

/* ---- which event a launch led to ---- */

/* The first effect of a launch has the launch's number, further ones have their place above it. */
#define EFFECT_SHIFT 40
#define UNCAUSED     (1ULL << 62)

int perfetto_gpu_append_launched(struct perfetto_gpu *gpu, struct perfetto_packets *packets,
				 const struct view_event *event)
{
	size_t begun;

	if (event->effect_count > 1 &&
	    map_set(&gpu->launches, event->launch, 0, event->effect_count) < 0)
		return -ENOMEM;
	begun = protobuf_begin(&packets->body, EVENT_GPU_CORRELATION);
	for (u64 i = 0; i < event->effect_count; i++)
		protobuf_number(&packets->body, CORRELATION_SUBMITTED,
				event->launch | i << EFFECT_SHIFT);
	protobuf_end(&packets->body, begun);
	return 0;
}

static u64 event_id(struct perfetto_gpu *gpu, const struct view_event *event)
{
	u64 *left, place = 0;

	/* Before its launch, by the clocks: no call can name it any more. */
	if (!event->cause || event->ts < event->cause->ts)
		return UNCAUSED + gpu->uncaused++;
	left = map_find(&gpu->launches, event->cause->number, 0);
	if (left) {
		place = --*left;
		if (!place)
			map_remove(&gpu->launches, event->cause->number, 0);
	}
	return event->cause->number | place << EFFECT_SHIFT;
}

/* ---- what is interned ---- */

static void append_specification(struct perfetto_packets *packets, u64 number, const char *name,
				 const char *description, u32 category)
{
	struct text *interned = &packets->interned;
	size_t begun = protobuf_begin(interned, INTERNED_SPECIFICATIONS);

	protobuf_number(interned, INTERNED_ID, number);
	protobuf_string(interned, SPECIFICATION_NAME, text_utf8(name, &packets->scratch));
	if (*description)
		protobuf_string(interned, SPECIFICATION_DESCRIPTION,
				text_utf8(description, &packets->scratch));
	if (category)
		protobuf_number(interned, SPECIFICATION_CATEGORY, category);
	protobuf_end(interned, begun);
}

static u64 stage_of(struct perfetto_packets *packets, const struct view_event *event)
{
	size_t i = 0;

	while (stages[i].kind != event->kind->number)
		i++;
	if (!perfetto_is_told(packets, INTERNED_SPECIFICATIONS, i + 1))
		append_specification(packets, i + 1, stages[i].name, "", stages[i].category);
	return i + 1;
}

/* A stream, by the place of its row: the same number in all states, since readers keep their tracks by it. */
static u64 queue_of(struct perfetto_packets *packets, const struct view_event *event)
{
	u64 number = ARRAY_SIZE(stages) + 1 + event->row_index;
	struct text what _cleanup_text_ = {0};

	if (perfetto_is_told(packets, INTERNED_SPECIFICATIONS, number))
		return number;
	text_appendf(&what, "process %u", event->row->pid);
	if (*event->row->process_name)
		text_appendf(&what, " (%s)", event->row->process_name);
	append_specification(packets, number, event->row->name, text_string(&what), 0);
	packets->body.failed |= what.failed;
	return number;
}

static u64 context_of(struct perfetto_packets *packets, const struct view_event *event)
{
	/* By its process and stream: work without a context has a process as well. */
	u64 number = event->row_index + 1;
	struct text *interned = &packets->interned;
	size_t begun;

	if (perfetto_is_told(packets, INTERNED_CONTEXTS, number))
		return number;
	begun = protobuf_begin(interned, INTERNED_CONTEXTS);
	protobuf_number(interned, INTERNED_ID, number);
	protobuf_number(interned, CONTEXT_PID, event->row->pid);
	protobuf_number(interned, CONTEXT_API, CONTEXT_CUDA);
	protobuf_end(interned, begun);
	return number;
}

/* Names of both kinds under one number, that of the event's name. */
static u64 kernel_of(struct perfetto_gpu *gpu, struct perfetto_packets *packets,
		     const struct view_event *event)
{
	u64 number = perfetto_intern(packets, PERFETTO_EVENT_NAME, event->name);
	const char *mangled = view_text(gpu->view, event->record->name);
	struct text *interned = &packets->interned;
	size_t begun;

	if (perfetto_is_told(packets, INTERNED_KERNELS, number))
		return number;
	begun = protobuf_begin(interned, INTERNED_KERNELS);
	protobuf_number(interned, INTERNED_ID, number);
	protobuf_string(interned, KERNEL_NAME,
			text_utf8(mangled ? mangled : event->name, &packets->scratch));
	protobuf_string(interned, KERNEL_DEMANGLED, text_utf8(event->name, &packets->scratch));
	protobuf_end(interned, begun);
	return number;
}

/* ---- an event ---- */

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

static void append_arg(struct perfetto_packets *packets, const char *name,
		       const struct view_value *value)
{
	struct text *body = &packets->body;
	u64 number = perfetto_intern_constant(packets, PERFETTO_KERNEL_ARG, name);
	size_t begun = protobuf_begin(body, LAUNCH_ARG);

	protobuf_number(body, ARG_NAME, number);
	switch (value->type) {
	case VALUE_STRING:
		perfetto_append_string(packets, ARG_STRING, value->string);
		break;
	case VALUE_S64:
		protobuf_number(body, ARG_SIGNED, value->number);
		break;
	case VALUE_DECIMAL:
		protobuf_double(body, ARG_DOUBLE, value->decimal);
		break;
	case VALUE_ARRAY:
		append_array(body, value);
		break;
	default:
		protobuf_number(body, ARG_UNSIGNED, value->number);
	}
	protobuf_end(body, begun);
}

static void append_number(struct perfetto_packets *packets, const char *name, u64 number)
{
	const struct view_value value = {.type = VALUE_U64, .number = number};

	if (number)
		append_arg(packets, name, &value);
}

/* How often the multiprocessors are filled by the blocks of a grid. */
static void append_waves(struct perfetto_gpu *gpu, struct perfetto_packets *packets,
			 const struct record_kernel *kernel)
{
	const struct record_device *device =
		(const void *)view_fact(gpu->view, KIND_device, kernel->device);
	struct view_value value = {.type = VALUE_DECIMAL};
	struct occupancy occupancy;

	if (!device || !device->multiprocessors || !kernel_blocks(kernel) ||
	    !occupancy_of(kernel, device, &occupancy) || !occupancy.blocks_per_multiprocessor)
		return;
	value.decimal = (double)kernel_blocks(kernel) / device->multiprocessors /
			occupancy.blocks_per_multiprocessor;
	append_arg(packets, "waves_per_multiprocessor", &value);
}

/* Perfetto's tables and workflows look for sizes as numbers, too. */
static void append_sizes(struct perfetto_gpu *gpu, struct perfetto_packets *packets,
			 const struct record_kernel *kernel)
{
	u64 blocks = kernel_blocks(kernel), threads = kernel_threads(kernel), all;

	if (kernel->grid[0])
		append_size(&packets->body, LAUNCH_GRID, kernel->grid);
	if (kernel->block[0])
		append_size(&packets->body, LAUNCH_BLOCK, kernel->block);
	append_number(packets, "grid_size", blocks);
	append_number(packets, "workgroup_size", threads);
	if (!__builtin_mul_overflow(blocks, threads, &all))
		append_number(packets, "thread_count", all);
	append_waves(gpu, packets, kernel);
}

static void append_launch(struct perfetto_gpu *gpu, struct perfetto_packets *packets,
			  const struct view_event *event)
{
	size_t begun = protobuf_begin(&packets->body, STAGE_LAUNCH), place = 0;
	struct view_value value;
	const char *name;

	if (event->kind->number == KIND_kernel)
		append_sizes(gpu, packets, (const void *)event->record);
	while ((name = chrome_args_next(&gpu->args, event, &place, &value)))
		append_arg(packets, name, &value);
	protobuf_end(&packets->body, begun);
}

int perfetto_gpu_write(struct perfetto_gpu *gpu, struct perfetto_packets *packets,
		       const struct view_event *event, struct err *err)
{
	struct text *body = &packets->body;

	protobuf_number(body, STAGE_EVENT_ID, event_id(gpu, event));
	protobuf_number(body, STAGE_DURATION, event->dur);
	protobuf_number(body, STAGE_CONTEXT, context_of(packets, event));
	protobuf_number(body, STAGE_GPU, perfetto_gpu_number(gpu, event->row));
	protobuf_number(body, STAGE_QUEUE, queue_of(packets, event));
	protobuf_number(body, STAGE_STAGE, stage_of(packets, event));
	if (event->kind->number == KIND_kernel)
		protobuf_number(body, STAGE_KERNEL, kernel_of(gpu, packets, event));
	protobuf_number(body, STAGE_NAME,
			perfetto_intern(packets, PERFETTO_EVENT_NAME, event->name));
	append_launch(gpu, packets, event);
	return perfetto_packet_write(packets, event->ts, PACKET_RENDER_STAGE, err);
}

void perfetto_gpu_free(struct perfetto_gpu *gpu)
{
	chrome_args_free(&gpu->args);
	map_free(&gpu->gpus);
	map_free(&gpu->launches);
}
