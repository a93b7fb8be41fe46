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
	u8 *memory;

	control->cupti.buffer_bytes = 64 << 10;
	control->cupti.buffer_count_max = 4;
	CHECK_U64(cupti_buffers_open(buffers, control), 0);
	memory = cupti_buffers_take(buffers);
	CHECK(memory && (uintptr_t)memory % 8 == 0);
	CHECK_U64(control->counters[AGENT_COUNT_BUFFERS_OUT], 1);
	CHECK(cupti_buffers_give_back(buffers, memory, 100));
	CHECK(!cupti_buffers_give_back(buffers, memory, 100));
	CHECK_U64(control->counters[AGENT_COUNT_BUFFERS_OUT], 0);
	/* One that stays out is whose it is now. */
	memory = cupti_buffers_take(buffers);
	CHECK_U64(cupti_buffers_close(buffers), 64 << 10);
	target_memory_free(memory);
	CHECK_U64(foreign, 0);
	free(buffers);
	free(control);
}

UNIT_MAIN()
