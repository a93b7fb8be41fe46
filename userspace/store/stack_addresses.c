/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/stack_addresses.h"

#include <stdlib.h>

#include "base/array.h"

static void add_address(struct stack_addresses *addresses, u32 pid, u64 address, u64 ts)
{
	u64 *known = map_find(&addresses->index, pid, address);
	struct stack_address *item;

	if (known) {
		item = &addresses->items[*known];
		item->first_ns = ts < item->first_ns ? ts : item->first_ns;
		item->last_ns = ts > item->last_ns ? ts : item->last_ns;
		return;
	}
	if (addresses->count == STACK_ADDRESSES_MAX ||
	    array_reserve(&addresses->items, &addresses->capacity, addresses->count + 1) ||
	    map_set(&addresses->index, pid, address, addresses->count)) {
		addresses->dropped_count++;
		return;
	}
	addresses->items[addresses->count++] = (struct stack_address){
		.address = address, .first_ns = ts, .last_ns = ts, .pid = pid};
}

static void add_stack(struct stack_addresses *addresses, const struct record_header *record)
{
	const struct record_stack *stack = (const struct record_stack *)record;
	const u64 *frames = (const u64 *)(stack + 1);

	if (record->size_bytes < sizeof(*stack) ||
	    stack->depth > (record->size_bytes - sizeof(*stack)) / sizeof(u64))
		return;
	for (u32 i = 0; i < stack->depth; i++)
		add_address(addresses, stack_address_is_kernel(frames[i]) ? 0 : record->pid,
			    stack_code_address(frames, i), record->ts);
}

void stack_addresses_add_batch(struct stack_addresses *addresses, const struct batch *batch)
{
	size_t size;
	const u8 *facts = batch_facts(batch, &size);

	for (size_t offset = 0; offset < size;) {
		const struct record_header *record = (const void *)(facts + offset);

		if (record->kind == KIND_stack)
			add_stack(addresses, record);
		offset += record->size_bytes;
	}
}

void stack_addresses_free(struct stack_addresses *addresses)
{
	free(addresses->items);
	map_free(&addresses->index);
	*addresses = (struct stack_addresses){0};
}
