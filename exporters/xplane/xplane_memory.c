/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/xplane/xplane_memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

#define LIVE_MAX	(1U << 20)   /* allocations at a time; what comes beyond is left out */
#define BYTES_MAX	(1ULL << 50) /* of an allocation; what says more is damaged */
#define NAME_BYTES	64
#define ALLOCATION_NAME "MemoryAllocation"
#define RELEASE_NAME	"MemoryDeallocation"

/* By what readers choose: each name is a profile of its own. Other kinds are none of a GPU's. */
static const struct {
	u8 kind;
	const char *name; /* with the number of the GPU, or without */
} memory_kinds[] = {
	{VALUE_memory_kind_device, "GPU_%s"},
	{VALUE_memory_kind_array, "GPU_%s"},
	{VALUE_memory_kind_device_static, "GPU_%s"},
	{VALUE_memory_kind_managed, "GPU_%s managed"},
	{VALUE_memory_kind_managed_static, "GPU_%s managed"},
	{VALUE_memory_kind_pinned, "pinned (GPU_%s)"},
};

/* "4242 GPU_0"; readers get what stands behind the blank. false: no memory that is of interest. */
static bool make_name(const struct view *view, const struct record_gpu_memory *record,
		      char name[NAME_BYTES])
{
	const struct record_header *fact = view_fact(view, KIND_device, record->device);
	const struct record_device *device = (const struct record_device *)fact;
	char allocator[NAME_BYTES - 16], number[16] = "unknown";

	if (device && device->number != ~0U)
		snprintf(number, sizeof(number), "%u", device->number);
	else if (record->device)
		snprintf(number, sizeof(number), "#%u", record->device);
	for (size_t i = 0; i < ARRAY_SIZE(memory_kinds); i++) {
		if (memory_kinds[i].kind != record->memory)
			continue;
		snprintf(allocator, sizeof(allocator), memory_kinds[i].name, number);
		snprintf(name, NAME_BYTES, "%u %s", record->header.pid, allocator);
		return true;
	}
	return false;
}

static int find_allocator(struct xplane_memory *memory, const char *name, size_t *ret_place)
{
	size_t count = memory->names.count;
	s64 place = string_table_add(&memory->names, name, strlen(name));

	if (place < 0 ||
	    array_reserve(&memory->allocators, &memory->allocator_capacity, place + 1) < 0)
		return -ENOMEM;
	if ((size_t)place == count)
		memory->allocators[place] = (struct xplane_allocator){0};
	*ret_place = place;
	return 0;
}

/* How much it was, and whose; 0: it was not seen to come. 1 or -ENOMEM. */
static int forget(struct xplane_memory *memory, const struct record_gpu_memory *record,
		  u64 *ret_bytes, size_t *ret_place)
{
	u64 *buffer = map_find(&memory->live_buffers, record->header.source, record->address);
	u64 *bytes = map_find(&memory->live_bytes, record->header.source, record->address);
	u64 *place = map_find(&memory->live_allocators, record->header.source, record->address);

	if (!bytes || !place || !buffer)
		return 0;
	*ret_bytes = *bytes;
	*ret_place = *place;
	if (xplane_hlo_heap_release(&memory->allocators[*place].heap, (u32)*buffer, *bytes) < 0)
		return -ENOMEM;
	memory->allocators[*place].used_bytes -= *bytes;
	map_remove(&memory->live_bytes, record->header.source, record->address);
	map_remove(&memory->live_allocators, record->header.source, record->address);
	map_remove(&memory->live_buffers, record->header.source, record->address);
	return 1;
}

static int remember(struct xplane_memory *memory, const struct record_gpu_memory *record,
		    size_t place, const char *operation)
{
	struct xplane_allocator *allocator = &memory->allocators[place];
	u32 buffer;

	if (xplane_hlo_heap_allocate(&allocator->heap, record->bytes, operation, &buffer) < 0 ||
	    map_set(&memory->live_buffers, record->header.source, record->address, buffer) < 0 ||
	    map_set(&memory->live_bytes, record->header.source, record->address, record->bytes) <
		    0 ||
	    map_set(&memory->live_allocators, record->header.source, record->address, place) < 0)
		return -ENOMEM;
	allocator->used_bytes += record->bytes;
	if (allocator->used_bytes > allocator->peak_bytes)
		allocator->peak_bytes = allocator->used_bytes;
	return 0;
}

/* ---- the event ---- */

static int write_event(struct xplane_memory *memory, const struct record_gpu_memory *record,
		       const char *event_name, size_t place, u64 bytes,
		       const struct xplane_memory_target *target, struct err *err)
{
	const struct xplane_allocator *allocator = &memory->allocators[place];
	const char *name = strchr(memory->names.strings[place], ' ') + 1;
	struct xplane_event event;

	if (!xplane_event_begin(&event, target->plane, event_name, target->offset_ns, 0) ||
	    !xplane_event_add_string(&event, target->plane, "allocator_name", name) ||
	    !xplane_event_add_s64(&event, target->plane, "bytes_allocated",
				  allocator->used_bytes) ||
	    !xplane_event_add_s64(&event, target->plane, "bytes_reserved", 0) ||
	    !xplane_event_add_s64(&event, target->plane, "peak_bytes_in_use",
				  allocator->peak_bytes) ||
	    !xplane_event_add_s64(&event, target->plane, "requested_bytes", (s64)bytes) ||
	    !xplane_event_add_s64(&event, target->plane, "allocation_bytes", (s64)bytes) ||
	    !xplane_event_add_s64(&event, target->plane, "addr", (s64)record->address) ||
	    (target->operation &&
	     !xplane_event_add_reference(&event, target->plane, "tf_op", target->operation)))
		return err_errno(err, -ENOMEM, "can't write an allocation");
	return xplane_line_add(target->line, target->store, &event, err);
}

int xplane_memory_add(struct xplane_memory *memory, const struct view *view,
		      const struct view_event *event, const struct xplane_memory_target *target,
		      struct err *err)
{
	const struct record_gpu_memory *record = (const struct record_gpu_memory *)event->record;
	bool is_allocation = record->operation == VALUE_memory_operation_allocate;
	char name[NAME_BYTES];
	u64 bytes = 0;
	size_t place;
	int found;

	if (!record->address || !make_name(view, record, name))
		return 0;
	/* An allocation where one is already: that one was freed unseen. */
	found = forget(memory, record, &bytes, &place);
	if (found < 0)
		return err_errno(err, found, "can't write an allocation");
	if (found && !is_allocation)
		return write_event(memory, record, RELEASE_NAME, place, bytes, target, err);
	if (!is_allocation || record->bytes > BYTES_MAX || memory->live_bytes.count >= LIVE_MAX)
		return 0;
	if (find_allocator(memory, name, &place) < 0)
		return err_errno(err, -ENOMEM, "can't write an allocation");
	if (memory->allocators[place].used_bytes > INT64_MAX - (s64)record->bytes)
		return 0;
	if (remember(memory, record, place, target->operation) < 0)
		return err_errno(err, -ENOMEM, "can't write an allocation");
	return write_event(memory, record, ALLOCATION_NAME, place, record->bytes, target, err);
}

/* ---- the Memory Viewer ---- */

/* Of programs: above those of processes, which are their pids. */
#define PROGRAM_IDS 10000000

int xplane_memory_close(const struct xplane_memory *memory, struct xplane_rows *rows,
			struct err *err)
{
	int result = 0;

	for (size_t i = 0; i < memory->names.count && result == 0; i++) {
		unsigned long pid = strtoul(memory->names.strings[i], NULL, 10);
		struct xplane_space *space = &rows->spaces[0];
		struct text name _cleanup_text_ = {0};

		for (size_t j = 0; j < rows->space_count; j++)
			if (rows->spaces[j].pid == pid)
				space = &rows->spaces[j];
		text_appendf(&name, "memory %s", strchr(memory->names.strings[i], ' ') + 1);
		/* A name ends where the parameters of a function would begin. */
		for (size_t at = 0; at < name.length; at++)
			if (strchr("()", name.data[at]))
				name.data[at] = ' ';
		result = name.failed ? -ENOMEM
				     : xplane_hlo_heap_close(&memory->allocators[i].heap, space,
							     name.data,
							     (s64)(pid + (i + 1) * PROGRAM_IDS));
	}
	return result < 0 ? err_errno(err, result, "can't write the memory of GPUs") : 0;
}

int xplane_memory_tell(const struct xplane_memory *memory, struct xplane_message_list *warnings)
{
	u64 left_out = 0;

	for (size_t i = 0; i < memory->names.count; i++)
		left_out += memory->allocators[i].heap.left_out;
	return left_out ? xplane_messages_add(warnings,
					      "%llu allocations are left out of the Memory Viewer: "
					      "small ones that are gone and were not "
					      "in use at the peak, or, where very many are in use "
					      "at a time, any: its peak is too low then",
					      (unsigned long long)left_out)
			: 0;
}

void xplane_memory_free(struct xplane_memory *memory)
{
	for (size_t i = 0; i < memory->names.count; i++)
		xplane_hlo_heap_free(&memory->allocators[i].heap);
	map_free(&memory->live_buffers);
	map_free(&memory->live_bytes);
	map_free(&memory->live_allocators);
	string_table_free(&memory->names);
	free(memory->allocators);
	*memory = (struct xplane_memory){0};
}
