/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/perfetto/perfetto_heap.h"

#include "exporters/perfetto/perfetto_stacks.h"

#define HEAP_NAME   "heap"	 /* a colon would end it */
#define STACKS_FROM (1ULL << 32) /* numbers of their stacks: above those of all others */
#define SUM_MAX \
	(1ULL << 53) /* readers add them up, signed; of damaged captures they are anything */

static u64 readable(u64 sum)
{
	return sum < SUM_MAX ? sum : sum == ~0ULL ? 0 : SUM_MAX; /* ~0: not known */
}

static void append_sums(struct text *body, u32 allocated_field, u64 allocated, u32 freed_field,
			u64 live)
{
	protobuf_number(body, allocated_field, readable(allocated));
	protobuf_number(body, freed_field, live < allocated ? readable(allocated - live) : 0);
}

/* A dump each, with a stack of its own number: readers take a second sample of a number for what the first one has become. */
int perfetto_heap_write(struct perfetto_packets *packets, const struct view *view,
			const struct view_event *event, struct err *err)
{
	const struct record_header *record = event->record;
	const struct record_heap_stack *sums = (const void *)record;
	u64 number = STACKS_FROM + packets->profiles;
	struct text *body = &packets->body;
	size_t dump, sample;

	if (!record->pid || !perfetto_stack_tell(packets, view, record->pid, record->stack, number))
		return 0;
	dump = protobuf_begin(body, PROFILE_DUMP);
	protobuf_number(body, DUMP_PID, record->pid);
	sample = protobuf_begin(body, DUMP_SAMPLE);
	protobuf_number(body, HEAP_STACK, number);
	append_sums(body, HEAP_ALLOCATED_BYTES, sums->bytes, HEAP_FREED_BYTES, sums->live_bytes);
	append_sums(body, HEAP_ALLOCATIONS, sums->calls, HEAP_FREES, sums->live_calls);
	protobuf_end(body, sample);
	protobuf_number(body, DUMP_TIMESTAMP, event->ts + event->dur);
	protobuf_string(body, DUMP_HEAP, HEAP_NAME);
	protobuf_end(body, dump);
	protobuf_number(body, PROFILE_INDEX, packets->profiles++);
	return perfetto_packet_write(packets, event->ts, PACKET_PROFILE, err);
}
