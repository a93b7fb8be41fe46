/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/perfetto/perfetto_gpu.h"

#include <errno.h>

#include "base/cleanup.h"

#define GPUS_MAX 1024 /* facts come from targets */

/* clang-format off */
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
	result = perfetto_launches_make(&gpu->details, view, err);
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

#define UNCAUSED (1ULL << 62)

int perfetto_gpu_append_launched(struct perfetto_gpu *gpu, struct perfetto_packets *packets,
				 const struct view_event *event)
{
	size_t begun;

	if (event->effect_count > 1 &&
	    map_set(&gpu->launches, event->launch, 0, event->effect_count) < 0)
		return -ENOMEM;
	if (event->effect_count == 1) {
		protobuf_numbers(&packets->body, EVENT_GPU_CORRELATION, CORRELATION_SUBMITTED,
				 perfetto_gpu_effect_of(event->launch, 0), 0, 0);
		return 0;
	}
	begun = protobuf_begin(&packets->body, EVENT_GPU_CORRELATION);
	for (u64 i = 0; i < event->effect_count; i++)
		protobuf_number(&packets->body, CORRELATION_SUBMITTED,
				perfetto_gpu_effect_of(event->launch, i));
	protobuf_end(&packets->body, begun);
	return 0;
}

u64 perfetto_gpu_effect(struct perfetto_gpu *gpu, const struct view_event *event)
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
	return perfetto_gpu_effect_of(event->cause->number, place);
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

/* Its names of both kinds, under the number of the event's name. */
static void tell_kernel(struct perfetto_gpu *gpu, struct perfetto_packets *packets,
			const struct view_event *event, u64 number)
{
	const char *mangled = view_text(gpu->view, event->record->name);
	struct text *interned = &packets->interned;
	size_t begun;

	if (perfetto_is_told(packets, INTERNED_KERNELS, number))
		return;
	begun = protobuf_begin(interned, INTERNED_KERNELS);
	protobuf_number(interned, INTERNED_ID, number);
	protobuf_string(interned, KERNEL_NAME,
			text_utf8(mangled ? mangled : event->name, &packets->scratch));
	protobuf_string(interned, KERNEL_DEMANGLED, text_utf8(event->name, &packets->scratch));
	protobuf_end(interned, begun);
}

/* ---- an event ---- */

int perfetto_gpu_write(struct perfetto_gpu *gpu, struct perfetto_packets *packets,
		       const struct view_event *event, struct err *err)
{
	struct text *body = &packets->body;
	u64 name;

	protobuf_number(body, STAGE_EVENT_ID, perfetto_gpu_effect(gpu, event));
	protobuf_number(body, STAGE_DURATION, event->dur);
	protobuf_number(body, STAGE_CONTEXT, context_of(packets, event));
	protobuf_number(body, STAGE_GPU, perfetto_gpu_number(gpu, event->row));
	protobuf_number(body, STAGE_QUEUE, queue_of(packets, event));
	protobuf_number(body, STAGE_STAGE, stage_of(packets, event));
	name = perfetto_intern(packets, PERFETTO_EVENT_NAME, event->name);
	if (event->kind->number == KIND_kernel) {
		tell_kernel(gpu, packets, event, name);
		protobuf_number(body, STAGE_KERNEL, name);
	}
	protobuf_number(body, STAGE_NAME, name);
	perfetto_launches_append(&gpu->details, packets, event);
	return perfetto_packet_write(packets, event->ts, PACKET_RENDER_STAGE, err);
}

void perfetto_gpu_free(struct perfetto_gpu *gpu)
{
	perfetto_launches_free(&gpu->details);
	map_free(&gpu->gpus);
	map_free(&gpu->launches);
}
