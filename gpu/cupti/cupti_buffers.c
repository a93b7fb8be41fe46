/* SPDX-License-Identifier: MIT */
#include "cupti_buffers.h"

#include <errno.h>
#include <string.h>

#include "../base/system.h"
#include "../base/target_memory.h"

#define SMALLEST_BYTES (64U << 10)
#define LARGEST_BYTES  (64U << 20)
/* So many are kept ready at least, and of these so many with memory behind them. */
#define READY	      32
#define READY_TOUCHED 8
#define READY_MAX     256 /* 72 MB of addresses */
/* Of so many one half is of the full size, the other half's memory makes small ones. */
#define COUNT_DIVIDED 16
#define SMALL_PART    8

static u32 bytes_of(const struct cupti_buffers *buffers, u32 index)
{
	u32 small = buffers->buffer_bytes / SMALL_PART & ~(u32)(PAGE_BYTES - 1);

	if (index < buffers->large_max)
		return buffers->buffer_bytes;
	return small > SMALLEST_BYTES ? small : SMALLEST_BYTES;
}

static void limit(struct cupti_buffers *buffers, u32 count)
{
	u64 small;

	buffers->large_max = count < COUNT_DIVIDED ? count : count / 2;
	small = (u64)(count - buffers->large_max) * buffers->buffer_bytes /
		bytes_of(buffers, count);
	buffers->count_max = buffers->large_max + small < CUPTI_BUFFERS_MAX
				     ? buffers->large_max + small
				     : CUPTI_BUFFERS_MAX;
}

int cupti_buffers_open(struct cupti_buffers *buffers, struct agent_control *control)
{
	u32 bytes = control->cupti.buffer_bytes & ~(u32)(PAGE_BYTES - 1);
	u32 count = control->cupti.buffer_count_max;

	buffers->buffer_bytes = bytes < SMALLEST_BYTES	? SMALLEST_BYTES
				: bytes > LARGEST_BYTES ? LARGEST_BYTES
							: bytes;
	buffers->control = control;
	limit(buffers, !count ? 2 : count > CUPTI_BUFFERS_MAX ? CUPTI_BUFFERS_MAX : count);
	buffers->ready = control->cupti.buffer_count_ready;
	if (buffers->ready < READY || buffers->ready > READY_MAX)
		buffers->ready = buffers->ready < READY ? READY : READY_MAX;
	cupti_buffers_prepare(buffers);
	/* What is left is the target's. */
	return buffers->count < buffers->count_max && buffers->count < READY ? -ENOMEM : 0;
}

static bool change(struct cupti_buffers *buffers, u32 index, u32 from, u32 to)
{
	u32 *state = &buffers->buffers[index].state;

	return __atomic_load_n(state, __ATOMIC_RELAXED) == from &&
	       __atomic_compare_exchange_n(state, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

static u32 count_of(const struct cupti_buffers *buffers)
{
	return __atomic_load_n(&buffers->count, __ATOMIC_ACQUIRE);
}

static u32 in_state(const struct cupti_buffers *buffers, u32 state)
{
	u32 found = 0;

	for (u32 i = 0; i < count_of(buffers); i++)
		found += __atomic_load_n(&buffers->buffers[i].state, __ATOMIC_ACQUIRE) == state;
	return found;
}

/* false: there is no memory for it. */
static bool add(struct cupti_buffers *buffers)
{
	u8 *memory = target_memory_allocate(bytes_of(buffers, buffers->count));

	if (!memory)
		return false;
	buffers->buffers[buffers->count].memory = memory;
	buffers->buffers[buffers->count].state = CUPTI_BUFFER_NEW;
	__atomic_store_n(&buffers->count, buffers->count + 1, __ATOMIC_RELEASE);
	return true;
}

static void touch(struct cupti_buffers *buffers, u32 index)
{
	/* Meanwhile nobody can have it. */
	if (!change(buffers, index, CUPTI_BUFFER_NEW, CUPTI_BUFFER_NONE))
		return;
	memset(buffers->buffers[index].memory, 0, bytes_of(buffers, index));
	__atomic_store_n(&buffers->buffers[index].state, CUPTI_BUFFER_FREE, __ATOMIC_RELEASE);
}

void cupti_buffers_prepare(struct cupti_buffers *buffers)
{
	u32 touched = in_state(buffers, CUPTI_BUFFER_FREE);
	u32 ready = touched + in_state(buffers, CUPTI_BUFFER_NEW);

	while (ready < buffers->ready && buffers->count < buffers->count_max && add(buffers))
		ready++;
	for (u32 i = 0; i < buffers->count && touched < READY_TOUCHED; i++)
		if (buffers->buffers[i].state == CUPTI_BUFFER_NEW) {
			touch(buffers, i);
			touched++;
		}
}

static u8 *take_one(struct cupti_buffers *buffers, u32 state, size_t *ret_bytes)
{
	for (u32 i = 0; i < count_of(buffers); i++)
		if (change(buffers, i, state, CUPTI_BUFFER_OUT)) {
			__atomic_fetch_add(&buffers->control->counters[AGENT_COUNT_BUFFERS_OUT], 1,
					   __ATOMIC_RELAXED);
			*ret_bytes = bytes_of(buffers, i);
			return buffers->buffers[i].memory;
		}
	return NULL;
}

u8 *cupti_buffers_take(struct cupti_buffers *buffers, size_t *ret_bytes)
{
	u8 *memory = take_one(buffers, CUPTI_BUFFER_FREE, ret_bytes);

	if (memory)
		return memory;
	memory = take_one(buffers, CUPTI_BUFFER_NEW, ret_bytes);
	if (memory && buffers->zeroed)
		memset(memory, 0, *ret_bytes);
	/* More are needed than are handed back. */
	__atomic_fetch_add(&buffers->control->bell, 1, __ATOMIC_RELEASE);
	system_wake_shared(&buffers->control->bell);
	return memory;
}

bool cupti_buffers_give_back(struct cupti_buffers *buffers, const u8 *buffer, size_t valid_bytes)
{
	u32 index = 0, count = count_of(buffers);

	while (index < count && buffers->buffers[index].memory != buffer)
		index++;
	if (index == count ||
	    __atomic_load_n(&buffers->buffers[index].state, __ATOMIC_ACQUIRE) != CUPTI_BUFFER_OUT)
		return false;
	buffers->buffers[index].valid_bytes =
		valid_bytes < bytes_of(buffers, index) ? valid_bytes : bytes_of(buffers, index);
	buffers->buffers[index].turn = __atomic_fetch_add(&buffers->completed, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&buffers->buffers[index].state, CUPTI_BUFFER_FULL, __ATOMIC_RELEASE);
	__atomic_fetch_sub(&buffers->control->counters[AGENT_COUNT_BUFFERS_OUT], 1,
			   __ATOMIC_RELAXED);
	__atomic_fetch_add(&buffers->control->bell, 1, __ATOMIC_RELEASE);
	system_wake_shared(&buffers->control->bell);
	return true;
}

const u8 *cupti_buffers_next(struct cupti_buffers *buffers, u32 *ret_index, size_t *ret_valid_bytes)
{
	u32 next = buffers->count;

	for (u32 i = 0; i < buffers->count; i++) {
		if (__atomic_load_n(&buffers->buffers[i].state, __ATOMIC_ACQUIRE) !=
		    CUPTI_BUFFER_FULL)
			continue;
		if (next == buffers->count ||
		    (s32)(buffers->buffers[i].turn - buffers->buffers[next].turn) < 0)
			next = i;
	}
	if (next == buffers->count)
		return NULL;
	*ret_index = next;
	*ret_valid_bytes = buffers->buffers[next].valid_bytes;
	return buffers->buffers[next].memory;
}

/* Wherever they stand: buffers are 8-aligned. */
typedef u64 u64_pair __attribute__((vector_size(16)));
struct pair {
	u64_pair words;
} __attribute__((packed, may_alias));

static bool is_zero(const u8 *page)
{
	const struct pair *pairs = (const void *)page;
	u64_pair found[4] = {0};

	for (u32 i = 0; i < PAGE_BYTES / sizeof(*pairs); i += ARRAY_SIZE(found))
		for (u32 k = 0; k < ARRAY_SIZE(found); k++)
			found[k] |= pairs[i + k].words;
	found[0] |= found[1] | found[2] | found[3];
	return !(found[0][0] | found[0][1]);
}

/* CUPTI may have begun records behind those that are valid. As a rule it has come to a hundredth of a buffer: the rest is read only. */
static void wipe(u8 *memory, u32 bytes, u32 valid_bytes)
{
	u32 wiped = (valid_bytes + PAGE_BYTES - 1) & ~(u32)(PAGE_BYTES - 1);

	memset(memory, 0, wiped < bytes ? wiped : bytes);
	for (; wiped < bytes; wiped += PAGE_BYTES)
		if (!is_zero(memory + wiped))
			memset(memory + wiped, 0, PAGE_BYTES);
}

void cupti_buffers_done(struct cupti_buffers *buffers, u32 index)
{
	if (buffers->zeroed)
		wipe(buffers->buffers[index].memory, bytes_of(buffers, index),
		     buffers->buffers[index].valid_bytes);
	__atomic_store_n(&buffers->buffers[index].state, CUPTI_BUFFER_FREE, __ATOMIC_RELEASE);
}

u32 cupti_buffers_out(const struct cupti_buffers *buffers)
{
	return in_state(buffers, CUPTI_BUFFER_OUT);
}

/* An allocator may keep what it gets back: the memory behind it goes first, but for the pages that are shared. */
static void let_go(const struct cupti_buffers *buffers, u32 index)
{
	u8 *memory = buffers->buffers[index].memory;
	u64 begin = ((u64)memory + PAGE_BYTES - 1) & ~(u64)(PAGE_BYTES - 1);
	u64 end = ((u64)memory + bytes_of(buffers, index)) & ~(u64)(PAGE_BYTES - 1);

	system_discard((void *)begin, end - begin);
	target_memory_free(memory);
}

u64 cupti_buffers_close(struct cupti_buffers *buffers)
{
	u64 out_bytes = 0;

	for (u32 i = 0; i < buffers->count; i++)
		if (buffers->buffers[i].state == CUPTI_BUFFER_OUT)
			out_bytes += bytes_of(buffers, i);
		else
			let_go(buffers, i);
	buffers->count = 0;
	return out_bytes;
}
