/* SPDX-License-Identifier: MIT */
#include "cupti_buffers.h"

#include <errno.h>

#include "system.h"

#define SMALLEST_BYTES (64U << 10)
#define LARGEST_BYTES  (64U << 20)

int cupti_buffers_open(struct cupti_buffers *buffers, struct agent_control *control)
{
	u32 bytes = control->cupti.buffer_bytes & ~(u32)(PAGE_BYTES - 1);
	u32 count = control->cupti.buffer_count_max;

	buffers->buffer_bytes = bytes < SMALLEST_BYTES	? SMALLEST_BYTES
				: bytes > LARGEST_BYTES ? LARGEST_BYTES
							: bytes;
	buffers->count = !count ? 2 : count > CUPTI_BUFFERS_MAX ? CUPTI_BUFFERS_MAX : count;
	buffers->control = control;
	buffers->memory = system_map((size_t)buffers->buffer_bytes * buffers->count);
	return buffers->memory ? 0 : -ENOMEM;
}

static bool change(struct cupti_buffers *buffers, u32 index, u32 from, u32 to)
{
	return __atomic_compare_exchange_n(&buffers->buffers[index].state, &from, to, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

u8 *cupti_buffers_take(struct cupti_buffers *buffers)
{
	for (u32 i = 0; i < buffers->count; i++)
		if (__atomic_load_n(&buffers->buffers[i].state, __ATOMIC_RELAXED) ==
			    CUPTI_BUFFER_FREE &&
		    change(buffers, i, CUPTI_BUFFER_FREE, CUPTI_BUFFER_OUT)) {
			__atomic_fetch_add(&buffers->control->counters[AGENT_COUNT_BUFFERS_OUT], 1,
					   __ATOMIC_RELAXED);
			return buffers->memory + (size_t)i * buffers->buffer_bytes;
		}
	return NULL;
}

bool cupti_buffers_give_back(struct cupti_buffers *buffers, const u8 *buffer, size_t valid_bytes)
{
	size_t offset = buffer - buffers->memory;
	u32 index = offset / buffers->buffer_bytes;

	if (buffer < buffers->memory || index >= buffers->count || offset % buffers->buffer_bytes ||
	    __atomic_load_n(&buffers->buffers[index].state, __ATOMIC_ACQUIRE) != CUPTI_BUFFER_OUT)
		return false;
	buffers->buffers[index].valid_bytes =
		valid_bytes < buffers->buffer_bytes ? valid_bytes : buffers->buffer_bytes;
	__atomic_store_n(&buffers->buffers[index].state, CUPTI_BUFFER_FULL, __ATOMIC_RELEASE);
	__atomic_fetch_sub(&buffers->control->counters[AGENT_COUNT_BUFFERS_OUT], 1,
			   __ATOMIC_RELAXED);
	__atomic_fetch_add(&buffers->full_count, 1, __ATOMIC_RELEASE);
	system_wake(&buffers->full_count);
	return true;
}

const u8 *cupti_buffers_next(struct cupti_buffers *buffers, u32 *cursor, size_t *ret_valid_bytes)
{
	for (; *cursor < buffers->count; ++*cursor)
		if (__atomic_load_n(&buffers->buffers[*cursor].state, __ATOMIC_ACQUIRE) ==
		    CUPTI_BUFFER_FULL) {
			*ret_valid_bytes = buffers->buffers[*cursor].valid_bytes;
			return buffers->memory + (size_t)*cursor * buffers->buffer_bytes;
		}
	return NULL;
}

void cupti_buffers_done(struct cupti_buffers *buffers, u32 cursor)
{
	__atomic_store_n(&buffers->buffers[cursor].state, CUPTI_BUFFER_FREE, __ATOMIC_RELEASE);
}

u32 cupti_buffers_out(const struct cupti_buffers *buffers)
{
	u32 out = 0;

	for (u32 i = 0; i < buffers->count; i++)
		out += __atomic_load_n(&buffers->buffers[i].state, __ATOMIC_ACQUIRE) ==
		       CUPTI_BUFFER_OUT;
	return out;
}

bool cupti_buffers_close(struct cupti_buffers *buffers)
{
	if (buffers->memory && cupti_buffers_out(buffers))
		return false;
	system_unmap(buffers->memory, (size_t)buffers->buffer_bytes * buffers->count);
	buffers->memory = NULL;
	return true;
}
