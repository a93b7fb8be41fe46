/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory that comes and goes, with a limit that a test can reach. */
#define XPLANE_HLO_HEAP_EVENTS_MAX 64
#include "../../exporters/xplane/xplane_hlo_heap.c" /* in place of the library's */

#include "unit.h"

static u32 allocate(struct xplane_hlo_heap *heap, u64 bytes)
{
	u32 buffer;

	CHECK(!xplane_hlo_heap_allocate(heap, bytes, NULL, &buffer));
	return buffer;
}

static void pass(struct xplane_hlo_heap *heap, u64 bytes)
{
	CHECK(!xplane_hlo_heap_release(heap, allocate(heap, bytes), bytes));
}

/* What the events that are kept say. */
static u64 peak_of(const struct xplane_hlo_heap *heap)
{
	u64 used = 0, peak = 0;

	for (size_t i = 0; i < heap->event_count; i++) {
		u64 bytes = find_buffer(heap, heap->events[i] / 2)->bytes;

		used = heap->events[i] % 2 ? used - bytes : used + bytes;
		peak = used > peak ? used : peak;
		if (i + 1 == heap->peak_event_count)
			CHECK_U64(used, heap->peak_bytes);
	}
	CHECK_U64(used, heap->used_bytes);
	return peak;
}

TEST(the_peak_stays_when_others_are_left_out)
{
	struct xplane_hlo_heap heap = {0};
	u32 first = allocate(&heap, 1000), second;

	for (u64 i = 0; i < 20; i++)
		pass(&heap, 100 + i);
	second = allocate(&heap, 5000);
	CHECK(!xplane_hlo_heap_release(&heap, first, 1000));
	CHECK(!xplane_hlo_heap_release(&heap, second, 5000));
	for (u64 i = 0; i < 10000; i++)
		pass(&heap, i % 400);
	CHECK_U64(heap.peak_bytes, 6000);
	CHECK_U64(peak_of(&heap), 6000);
	CHECK(find_buffer(&heap, first) && find_buffer(&heap, second));
	CHECK(heap.left_out > 9900);
	CHECK(heap.event_count <= XPLANE_HLO_HEAP_EVENTS_MAX + 2);
	xplane_hlo_heap_free(&heap);
}

TEST(a_later_peak_counts)
{
	struct xplane_hlo_heap heap = {0};

	pass(&heap, 9000);
	for (u64 i = 0; i < 200; i++)
		pass(&heap, 10);
	allocate(&heap, 9500);
	for (u64 i = 0; i < 200; i++)
		pass(&heap, 10);
	CHECK_U64(heap.peak_bytes, 9510);
	CHECK_U64(peak_of(&heap), 9510);
	xplane_hlo_heap_free(&heap);
}

TEST(more_at_a_time_than_there_is_room_for_is_counted)
{
	struct xplane_hlo_heap heap = {0};
	u32 buffers[200];

	for (size_t i = 0; i < 200; i++)
		buffers[i] = allocate(&heap, 10);
	CHECK(heap.left_out > 100);
	CHECK_U64(buffers[199], 0);
	for (size_t i = 0; i < 200; i++)
		CHECK(!xplane_hlo_heap_release(&heap, buffers[i], 10));
	CHECK_U64(heap.used_bytes, 0);
	CHECK_U64(peak_of(&heap), heap.peak_bytes);
	xplane_hlo_heap_free(&heap);
}

TEST(the_program_has_each_size_once_and_each_buffer)
{
	struct xplane_space space = {.pid = 42};
	struct xplane_hlo_heap heap = {0};
	struct heap_program program = {0};

	allocate(&heap, 10);
	allocate(&heap, 20);
	pass(&heap, 10);
	for (size_t i = 0; i < heap.buffer_count; i++)
		CHECK(!add_buffer(&program, &heap.buffers[i]));
	CHECK_U64(program.names.count, 2);
	CHECK_STRING(program.names.strings[1], "allocation.1");
	heap_program_free(&program);
	CHECK(!xplane_hlo_heap_close(&heap, &space, "memory GPU_0", 43));
	CHECK(space.metadata && space.metadata->packed.length);
	xplane_plane_free(space.metadata);
	free(space.metadata);
	xplane_hlo_heap_free(&heap);
}

TEST(no_memory_no_program)
{
	struct xplane_space space = {.pid = 42};
	struct xplane_hlo_heap heap = {0};

	CHECK_U64(allocate(&heap, 0), 0);
	CHECK_U64(heap.left_out, 0);
	CHECK_U64(allocate(&heap, XPLANE_HLO_BYTES_MAX + 1), 0);
	CHECK_U64(heap.left_out, 1);
	CHECK(!xplane_hlo_heap_close(&heap, &space, "memory GPU_0", 43));
	CHECK(!space.metadata);
}

UNIT_MAIN()
