/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/xplane/xplane_hlo_heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "exporters/xplane/xplane_hlo.h"
#include "hlo.pb-c.h"

#define EVENT_COMES 0
#define EVENT_GOES  1

/* ---- leaving out ---- */

/* Buffers are in the order of their numbers. */
static struct xplane_hlo_buffer *find_buffer(const struct xplane_hlo_heap *heap, u32 number)
{
	size_t low = 0, high = heap->buffer_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (heap->buffers[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < heap->buffer_count && heap->buffers[low].number == number ? &heap->buffers[low]
									       : NULL;
}

static void mark_buffers(struct xplane_hlo_heap *heap)
{
	for (size_t i = 0; i < heap->buffer_count; i++)
		heap->buffers[i].is_gone = heap->buffers[i].is_in_peak = false;
	for (size_t i = 0; i < heap->event_count; i++) {
		struct xplane_hlo_buffer *buffer = find_buffer(heap, heap->events[i] / 2);

		buffer->is_gone = heap->events[i] % 2;
		if (i < heap->peak_event_count)
			buffer->is_in_peak = !buffer->is_gone;
	}
}

static bool is_needed(const struct xplane_hlo_buffer *buffer, u64 bytes_min)
{
	return !buffer->is_gone || buffer->is_in_peak || buffer->bytes >= bytes_min;
}

static size_t count_needed(const struct xplane_hlo_heap *heap, u64 bytes_min)
{
	size_t count = 0;

	for (size_t i = 0; i < heap->buffer_count; i++)
		count += is_needed(&heap->buffers[i], bytes_min);
	return count;
}

static void keep_needed(struct xplane_hlo_heap *heap, u64 bytes_min)
{
	size_t count = 0, peak_event_count = 0;

	for (size_t i = 0; i < heap->event_count; i++) {
		u32 event = heap->events[i];

		if (!is_needed(find_buffer(heap, event / 2), bytes_min))
			continue;
		peak_event_count += i < heap->peak_event_count;
		heap->events[count++] = event;
	}
	heap->event_count = count;
	heap->peak_event_count = peak_event_count;
	count = 0;
	for (size_t i = 0; i < heap->buffer_count; i++)
		if (is_needed(&heap->buffers[i], bytes_min))
			heap->buffers[count++] = heap->buffers[i];
	heap->left_out += heap->buffer_count - count;
	heap->buffer_count = count;
}

/* At least half of what can go does. */
static void leave_out(struct xplane_hlo_heap *heap)
{
	size_t needed, all = heap->buffer_count;
	u64 bytes_min = 1;

	mark_buffers(heap);
	needed = count_needed(heap, UINT64_MAX);
	heap->is_full = needed > all / 4 * 3;
	if (heap->is_full)
		return;
	while (count_needed(heap, bytes_min) > needed + (all - needed) / 2)
		bytes_min *= 2;
	keep_needed(heap, bytes_min);
}

/* ---- what comes and goes ---- */

static int add_event(struct xplane_hlo_heap *heap, u32 event)
{
	if (array_reserve(&heap->events, &heap->event_capacity, heap->event_count + 1) < 0)
		return -ENOMEM;
	heap->events[heap->event_count++] = event;
	return 0;
}

int xplane_hlo_heap_allocate(struct xplane_hlo_heap *heap, u64 bytes, const char *operation,
			     u32 *ret_buffer)
{
	*ret_buffer = 0;
	if (!heap->is_full && heap->event_count >= XPLANE_HLO_HEAP_EVENTS_MAX)
		leave_out(heap);
	if (heap->is_full || !bytes || bytes > XPLANE_HLO_BYTES_MAX ||
	    heap->last_number >= UINT32_MAX / 2) {
		heap->left_out += bytes != 0;
		return 0;
	}
	if (array_reserve(&heap->buffers, &heap->buffer_capacity, heap->buffer_count + 1) < 0 ||
	    add_event(heap, 2 * (heap->last_number + 1) + EVENT_COMES) < 0)
		return -ENOMEM;
	heap->buffers[heap->buffer_count++] = (struct xplane_hlo_buffer){
		.bytes = bytes, .operation = operation, .number = ++heap->last_number};
	heap->used_bytes += bytes;
	if (heap->used_bytes > heap->peak_bytes) {
		heap->peak_bytes = heap->used_bytes;
		heap->peak_event_count = heap->event_count;
	}
	*ret_buffer = heap->last_number;
	return 0;
}

int xplane_hlo_heap_release(struct xplane_hlo_heap *heap, u32 buffer, u64 bytes)
{
	if (!buffer)
		return 0;
	heap->used_bytes -= bytes;
	return add_event(heap, 2 * buffer + EVENT_GOES);
}

void xplane_hlo_heap_free(struct xplane_hlo_heap *heap)
{
	free(heap->buffers);
	free(heap->events);
	*heap = (struct xplane_hlo_heap){0};
}

/* ---- the program ---- */

/* Where a buffer is defined. */
struct definition {
	s64 id;
	const char *name;
};

struct heap_program {
	struct xplane_hlo_module module;
	struct string_table names; /* of instructions, in their order */
	s64 *ids;		   /* as in names */
	size_t id_capacity;
	struct map numbers; /* (operation, bytes) -> number in names */
	struct text buffers, allocation, trace;
};

static void heap_program_free(struct heap_program *program)
{
	xplane_hlo_module_free(&program->module);
	string_table_free(&program->names);
	free(program->ids);
	map_free(&program->numbers);
	text_free(&program->buffers);
	text_free(&program->allocation);
	text_free(&program->trace);
}

/* "step_forward_cudaMalloc.3" */
static int add_instruction(struct heap_program *program, const struct xplane_hlo_buffer *buffer)
{
	struct xplane_hlo_instruction one = {
		.operation = buffer->operation,
		.cost = {.form = XPLANE_HLO_MEMORY, .bytes = buffer->bytes},
	};
	const char *operation = buffer->operation ? buffer->operation : "allocation";
	size_t number = program->names.count;
	struct text path _cleanup_text_ = {0}, name _cleanup_text_ = {0};

	text_append_bytes(&path, operation, strcspn(operation, ":"));
	xplane_hlo_append_name(&name, text_string(&path));
	text_appendf(&name, ".%zu", number);
	one.name = text_string(&name);
	if (path.failed || name.failed ||
	    array_reserve(&program->ids, &program->id_capacity, number + 1) < 0 ||
	    string_table_add(&program->names, name.data, name.length) < 0)
		return -ENOMEM;
	return xplane_hlo_module_add(&program->module, &one, &program->ids[number]);
}

static int define(struct heap_program *program, const struct xplane_hlo_buffer *buffer,
		  struct definition *ret_definition)
{
	u64 *there = map_find(&program->numbers, (u64)buffer->operation, buffer->bytes);
	size_t number = there ? *there : program->names.count;

	if (!there &&
	    (add_instruction(program, buffer) < 0 ||
	     map_set(&program->numbers, (u64)buffer->operation, buffer->bytes, number) < 0))
		return -ENOMEM;
	*ret_definition = (struct definition){program->ids[number], program->names.strings[number]};
	return 0;
}

/* The buffer, and its place: which one it had is not known. */
static int add_buffer(struct heap_program *program, const struct xplane_hlo_buffer *buffer)
{
	Hlo__BufferAssignment all = HLO__BUFFER_ASSIGNMENT__INIT;
	Hlo__LogicalBuffer one = HLO__LOGICAL_BUFFER__INIT, *ones = &one;
	Hlo__LogicalBuffer__Place place = HLO__LOGICAL_BUFFER__PLACE__INIT;
	Hlo__BufferAllocation allocation = HLO__BUFFER_ALLOCATION__INIT;
	Hlo__BufferAllocation__Assigned assigned = HLO__BUFFER_ALLOCATION__ASSIGNED__INIT,
					*all_assigned = &assigned;
	struct definition definition;

	if (define(program, buffer, &definition) < 0)
		return -ENOMEM;
	place.instruction_name = (char *)definition.name;
	place.instruction_id = definition.id;
	one.id = assigned.buffer_id = buffer->number;
	one.size = assigned.size = (s64)buffer->bytes;
	one.defined_at = &place;
	all.n_logical_buffers = 1;
	all.logical_buffers = &ones;
	xplane_hlo_append_packed(&program->buffers, &all.base);
	allocation.n_assigned = 1;
	allocation.assigned = &all_assigned;
	xplane_hlo_append_packed(&program->allocation, &allocation.base);
	return program->buffers.failed || program->allocation.failed ? -ENOMEM : 0;
}

static int add_moment(struct heap_program *program, const struct xplane_hlo_heap *heap, u32 event)
{
	const struct xplane_hlo_buffer *buffer = find_buffer(heap, event / 2);
	Hlo__HeapTrace trace = HLO__HEAP_TRACE__INIT;
	Hlo__HeapTrace__Event one = HLO__HEAP_TRACE__EVENT__INIT, *ones = &one;
	struct definition definition;

	if (define(program, buffer, &definition) < 0)
		return -ENOMEM;
	one.kind = (s32)(event % 2);
	one.buffer_id = buffer->number;
	one.computation_name = XPLANE_HLO_COMPUTATION_NAME;
	one.instruction_name = (char *)definition.name;
	trace.n_events = 1;
	trace.events = &ones;
	xplane_hlo_append_packed(&program->trace, &trace.base);
	return program->trace.failed ? -ENOMEM : 0;
}

/* All of it stands in one allocation, as large as what is in use at the peak. */
static int finish(struct heap_program *program, u64 peak_bytes)
{
	Hlo__PackedBufferAssignment all = HLO__PACKED_BUFFER_ASSIGNMENT__INIT;
	Hlo__BufferAllocation allocation = HLO__BUFFER_ALLOCATION__INIT;
	Hlo__HeapTrace trace = HLO__HEAP_TRACE__INIT;
	ProtobufCBinaryData allocations, traces;

	allocation.size = (s64)peak_bytes;
	xplane_hlo_append_packed(&program->allocation, &allocation.base);
	trace.whole_module = true;
	xplane_hlo_append_packed(&program->trace, &trace.base);
	allocations =
		(ProtobufCBinaryData){program->allocation.length, (u8 *)program->allocation.data};
	traces = (ProtobufCBinaryData){program->trace.length, (u8 *)program->trace.data};
	all.n_buffer_allocations = all.n_heap_traces = 1;
	all.buffer_allocations = &allocations;
	all.heap_traces = &traces;
	xplane_hlo_append_packed(&program->buffers, &all.base);
	return program->buffers.failed || program->allocation.failed || program->trace.failed
		       ? -ENOMEM
		       : 0;
}

int xplane_hlo_heap_close(const struct xplane_hlo_heap *heap, struct xplane_space *space,
			  const char *name, s64 id)
{
	struct heap_program program = {0};
	int result = 0;

	for (size_t i = 0; i < heap->buffer_count && result == 0; i++)
		result = add_buffer(&program, &heap->buffers[i]);
	for (size_t i = 0; i < heap->event_count && result == 0; i++)
		result = add_moment(&program, heap, heap->events[i]);
	if (result == 0 && heap->buffer_count)
		result = finish(&program, heap->peak_bytes);
	if (result == 0 && heap->buffer_count)
		result = xplane_hlo_add_program(space, name, id, &program.module, &program.buffers);
	heap_program_free(&program);
	return result;
}
