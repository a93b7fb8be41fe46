/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Buffers that any code of the target may free(): of the allocator that its free() belongs to. */
#include "unit.h"

#include "../gpu/base/target_memory.h"
#include "../gpu/cupti/cupti_buffers.h"

static unsigned foreign;

/* That of libc, behind an allocator which has malloc() and free() only: what it gives is nothing that free() knows. */
void *aligned_alloc(size_t alignment, size_t bytes)
{
	foreign++;
	return NULL;
}

TEST(what_free_gets_comes_from_malloc)
{
	struct agent_control *control = calloc(1, sizeof(*control));
	struct cupti_buffers *buffers = calloc(1, sizeof(*buffers));
	size_t bytes;
	u8 *memory;

	control->cupti.buffer_bytes = 64 << 10;
	control->cupti.buffer_count_max = 4;
	CHECK_U64(cupti_buffers_open(buffers, control), 0);
	memory = cupti_buffers_take(buffers, &bytes);
	CHECK_U64(bytes, 64 << 10);
	CHECK(memory && (uintptr_t)memory % 8 == 0);
	CHECK_U64(control->counters[AGENT_COUNT_BUFFERS_OUT], 1);
	CHECK(cupti_buffers_give_back(buffers, memory, 100));
	CHECK(!cupti_buffers_give_back(buffers, memory, 100));
	CHECK_U64(control->counters[AGENT_COUNT_BUFFERS_OUT], 0);
	/* One that stays out is whose it is now. */
	memory = cupti_buffers_take(buffers, &bytes);
	CHECK_U64(cupti_buffers_close(buffers), 64 << 10);
	target_memory_free(memory);
	CHECK_U64(foreign, 0);
	free(buffers);
	free(control);
}

/* The memory is that of as many as were allowed. */
TEST(hundreds_of_threads_have_one_each)
{
	struct agent_control *control = calloc(1, sizeof(*control));
	struct cupti_buffers *buffers = calloc(1, sizeof(*buffers));
	size_t bytes, sum = 0, count = 0;

	control->cupti.buffer_bytes = 512 << 10;
	control->cupti.buffer_count_max = 64;
	control->cupti.buffer_count_ready = 200;
	CHECK_U64(cupti_buffers_open(buffers, control), 0);
	CHECK_U64(buffers->count, 200);
	for (;; count++, sum += bytes) {
		u8 *memory = cupti_buffers_take(buffers, &bytes);

		if (!memory)
			break;
		memset(memory, 1, bytes);
		CHECK_U64(bytes, count < 32 ? 512 << 10 : 64 << 10);
		cupti_buffers_prepare(buffers);
	}
	CHECK_U64(count, 32 + 32 * 8);
	CHECK_U64(sum, 64 * 512 << 10);
	for (u32 i = 0; i < buffers->count; i++)
		cupti_buffers_give_back(buffers, buffers->buffers[i].memory, 0);
	CHECK_U64(cupti_buffers_close(buffers), 0);
	free(buffers);
	free(control);
}

/* Wherever they lie in memory, also where their count goes past its end. */
TEST(what_was_handed_back_first_is_read_first)
{
	struct agent_control *control = calloc(1, sizeof(*control));
	struct cupti_buffers *buffers = calloc(1, sizeof(*buffers));
	static const u32 order[] = {2, 0, 3, 1};
	u8 *memory[4];
	size_t bytes;
	u32 index;

	control->cupti.buffer_bytes = 64 << 10;
	control->cupti.buffer_count_max = 4;
	control->cupti.buffer_count_ready = 4;
	CHECK_U64(cupti_buffers_open(buffers, control), 0);
	buffers->completed = UINT32_MAX - 1;
	for (u32 i = 0; i < ARRAY_SIZE(memory); i++)
		memory[i] = cupti_buffers_take(buffers, &bytes);
	for (u32 i = 0; i < ARRAY_SIZE(order); i++)
		CHECK(cupti_buffers_give_back(buffers, memory[order[i]], 8));
	for (u32 i = 0; i < ARRAY_SIZE(order); i++) {
		CHECK(cupti_buffers_next(buffers, &index, &bytes) == memory[order[i]]);
		cupti_buffers_done(buffers, index);
	}
	CHECK(!cupti_buffers_next(buffers, &index, &bytes));
	CHECK_U64(cupti_buffers_close(buffers), 0);
	free(buffers);
	free(control);
}

/* Up to where CUPTI has written, which may be behind what it says is valid. */
TEST(what_is_used_again_holds_nothing_but_zeros)
{
	static const u32 valid[] = {0, 1, 4095, 4096, 4097, 60000, 65535, 65536};
	static const u32 behind[] = {0, 8, 4095, 4096, 4097, 9000};
	struct agent_control *control = calloc(1, sizeof(*control));
	struct cupti_buffers *buffers = calloc(1, sizeof(*buffers));
	const u32 size = 64 << 10;

	control->cupti.buffer_bytes = size;
	control->cupti.buffer_count_max = 1;
	CHECK_U64(cupti_buffers_open(buffers, control), 0);
	buffers->zeroed = true;
	for (u32 i = 0; i < ARRAY_SIZE(valid) * ARRAY_SIZE(behind); i++) {
		u32 until = valid[i % ARRAY_SIZE(valid)] + behind[i / ARRAY_SIZE(valid)];
		u32 index, left = 0;
		size_t bytes;
		u8 *memory = cupti_buffers_take(buffers, &bytes);

		CHECK(memory);
		for (u32 at = 0; at < size; at++)
			left += memory[at] != 0;
		CHECK_U64(left, 0);
		memset(memory, 0xa5, until < size ? until : size);
		CHECK(cupti_buffers_give_back(buffers, memory, valid[i % ARRAY_SIZE(valid)]));
		CHECK(cupti_buffers_next(buffers, &index, &bytes) == memory);
		cupti_buffers_done(buffers, index);
	}
	CHECK_U64(cupti_buffers_close(buffers), 0);
	free(buffers);
	free(control);
}

UNIT_MAIN()
