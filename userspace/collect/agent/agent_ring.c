/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/agent/agent_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "python/python_codes.h"
#include "store/schema.h"

struct agent_ring {
	struct agent_ring_config config;
	u32 *read_bytes; /* of each chunk, ours alone */
	u64 damaged_count;
	u64 last_bytes; /* taken since the end */
	bool ending;
	u64 codes_bytes;			 /* of code objects of Python that were taken, */
	u64 codes_seen[AGENT_PYTHON_CODES / 64]; /* and a bit for each of their numbers */
	union {
		struct record_header header;
		u8 bytes[AGENT_CHUNK_RECORDS_BYTES];
	} record; /* copied out */
};

/* All code objects of PyTorch's and its program's take a few. */
#define CODES_BYTES_MAX (32U << 20)

/* What an agent has a say in; everything else in a capture is ours. */
static const u16 agent_kinds[] = {
	KIND_text,	    KIND_stack, KIND_attribute,	   KIND_range,
	KIND_process_range, KIND_mark,	KIND_launch_stack,
#define LAYOUT(layout, tag, bytes, start, end, times, header) KIND_##tag,
#include "../gpu/cupti/cupti_layout.def"
};

static bool is_agent_kind(u16 kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(agent_kinds); i++)
		if (agent_kinds[i] == kind)
			return true;
	return false;
}

int agent_ring_create(const struct agent_ring_config *config, struct agent_ring **ret_ring)
{
	struct agent_ring *ring = calloc(1, sizeof(*ring));

	if (!ring)
		return -ENOMEM;
	ring->config = *config;
	ring->read_bytes = calloc(config->chunk_count + 1, sizeof(*ring->read_bytes));
	if (!ring->read_bytes) {
		free(ring);
		return -ENOMEM;
	}
	*ret_ring = ring;
	return 0;
}

struct agent_ring *agent_ring_free(struct agent_ring *ring)
{
	if (ring)
		free(ring->read_bytes);
	free(ring);
	return NULL;
}

static struct agent_chunk *chunk_of(const struct agent_ring *ring, u32 index)
{
	return (struct agent_chunk *)((u8 *)ring->config.control + AGENT_CONTROL_BYTES +
				      (size_t)index * AGENT_CHUNK_BYTES);
}

static bool chunk_change(struct agent_chunk *chunk, u32 from, u32 to)
{
	return __atomic_compare_exchange_n(&chunk->state, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

/* From a thread that has ended, unless another one has the chunk by now. */
static void chunk_take_over(struct agent_chunk *chunk, u32 holder)
{
	u64 held = (u64)holder << 32 | AGENT_CHUNK_HELD, full = AGENT_CHUNK_FULL;

	_Static_assert(offsetof(struct agent_chunk, holder) ==
			       offsetof(struct agent_chunk, state) + sizeof(chunk->state),
		       "both are one word");
	__atomic_compare_exchange_n((u64 *)&chunk->state, &held, full, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_ACQUIRE);
}

/* ---- one record ---- */

/* All moments in it, as the host's clock has them. */
static void shift_times(const struct schema_kind *kind, struct record_header *record, s64 shift_ns)
{
	record->ts += shift_ns;
	for (size_t i = 0; i < kind->field_count; i++) {
		const struct schema_field *field = &kind->fields[i];
		u64 time;

		if (field->unit != UNIT_TIME || field->count != 1)
			continue;
		time = schema_field_value(field, record, 0);
		if (time != field->absent)
			schema_field_set(field, record, 0, time + shift_ns);
	}
}

static void stamp(const struct agent_ring *ring, const struct schema_kind *kind,
		  struct record_header *record)
{
	const struct agent_ring_config *config = &ring->config;
	u32 tid;

	record->source = config->source;
	record->pid = config->pid;
	if (record->tid) {
		tid = config->host_thread(config->data, record->tid);
		/* One that has ended is still one of its own. */
		record->tid = tid ? tid : record->tid;
	}
	if (config->clock_shift_ns)
		shift_times(kind, record, config->clock_shift_ns);
}

/* Is it of a kind that an agent sends, and as large as that is? */
static bool is_expected(const struct record_header *record)
{
	const struct schema_kind *kind;

	if (record->kind == AGENT_KIND_PYTHON_CODE)
		return true;
	if (!is_agent_kind(record->kind))
		return false;
	kind = schema_kind(record->kind);
	return kind->tail == TAIL_NONE ? record->size_bytes == kind->size_bytes
				       : record->size_bytes >= kind->size_bytes;
}

/* Copies the record at *offset out and moves on; false: what is there is no record. */
static bool take_record(struct agent_ring *ring, const struct agent_chunk *chunk, u32 fill_bytes,
			u32 *offset)
{
	struct record_header *record = &ring->record.header;

	if (fill_bytes - *offset < sizeof(*record))
		return false;
	memcpy(record, chunk->records + *offset, sizeof(*record));
	if (record->size_bytes < sizeof(*record) || record->size_bytes % 8 ||
	    record->size_bytes > fill_bytes - *offset || !is_expected(record))
		return false;
	/* Behind the header that was checked, which the target can no longer change. */
	memcpy(record + 1, chunk->records + *offset + sizeof(*record),
	       record->size_bytes - sizeof(*record));
	*offset += record->size_bytes;
	return true;
}

/* Of a code object of Python, which is no record of a capture. Numbers of others are not to be had, and each is sent once, so that no target
 * takes all the room that there is for names. False: it is none. */
static bool take_code(struct agent_ring *ring)
{
	const struct agent_ring_config *config = &ring->config;
	const struct record_header *header = &ring->record.header;
	const struct python_code *code = (const void *)(header + 1);
	size_t bytes = header->size_bytes - sizeof(*header);
	u32 number = code->id - config->first_code;
	u64 bit = 1ULL << number % 64;

	if (!config->codes || bytes < offsetof(struct python_code, lines) ||
	    number >= AGENT_PYTHON_CODES || ring->codes_seen[number / 64] & bit ||
	    ring->codes_bytes + bytes > CODES_BYTES_MAX)
		return false;
	ring->codes_seen[number / 64] |= bit;
	ring->codes_bytes += bytes;
	python_codes_add(config->codes, code, bytes);
	return true;
}

/* A stack of a launch stands for one, of a call that it names. */
static bool mend_stack(const struct agent_ring *ring, struct record_launch_stack *stack)
{
	stack->launches = 1;
	stack->probe = stack->number = 0;
	return ring->config.stacks && stack->call_correlation &&
	       stack->call_correlation <= UINT32_MAX;
}

/* One that was copied out. Negative: the callback's. */
static int give(struct agent_ring *ring, record_callback callback, void *callback_data)
{
	struct record_header *record = &ring->record.header;

	if (record->kind == AGENT_KIND_PYTHON_CODE) {
		ring->damaged_count += !take_code(ring);
		return 0;
	}
	if (record->kind == KIND_launch_stack && !mend_stack(ring, (void *)record)) {
		ring->damaged_count++;
		return 0;
	}
	stamp(ring, schema_kind(record->kind), record);
	return callback(callback_data, record, record->size_bytes);
}

/* ---- one chunk ---- */

/* Nobody writes in it any more, and all of it was read. */
static void chunk_release(struct agent_ring *ring, struct agent_chunk *chunk, u32 index)
{
	ring->read_bytes[index] = 0;
	__atomic_store_n(&chunk->fill_bytes, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&chunk->holder, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&chunk->state, AGENT_CHUNK_FREE, __ATOMIC_RELEASE);
}

/* A producer may have gone on in a chunk between our looking and our taking it. */
static void chunk_recycle(struct agent_ring *ring, struct agent_chunk *chunk, u32 index)
{
	u32 state = __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE);
	u32 fill_bytes;

	if (state != AGENT_CHUNK_FULL &&
	    (state != AGENT_CHUNK_PARTIAL ||
	     ring->read_bytes[index] < AGENT_CHUNK_RECORDS_BYTES / 2 ||
	     !chunk_change(chunk, AGENT_CHUNK_PARTIAL, AGENT_CHUNK_TAKEN)))
		return;
	fill_bytes = __atomic_load_n(&chunk->fill_bytes, __ATOMIC_ACQUIRE);
	if (fill_bytes <= ring->read_bytes[index])
		chunk_release(ring, chunk, index);
	else if (state == AGENT_CHUNK_PARTIAL)
		chunk_change(chunk, AGENT_CHUNK_TAKEN, AGENT_CHUNK_PARTIAL);
}

/* What is in the memory when the agent has left is no more than fits in. */
static bool is_over(const struct agent_ring *ring)
{
	return __atomic_load_n(&ring->ending, __ATOMIC_ACQUIRE) &&
	       ring->last_bytes >= (u64)ring->config.chunk_count * AGENT_CHUNK_RECORDS_BYTES;
}

void agent_ring_end(struct agent_ring *ring)
{
	__atomic_store_n(&ring->ending, true, __ATOMIC_RELEASE);
}

static int chunk_drain(struct agent_ring *ring, u32 index, record_callback callback,
		       void *callback_data)
{
	struct agent_chunk *chunk = chunk_of(ring, index);
	u32 fill_bytes = __atomic_load_n(&chunk->fill_bytes, __ATOMIC_ACQUIRE);
	u32 *read_bytes = &ring->read_bytes[index];
	int count = 0, result = 0;

	if (fill_bytes > AGENT_CHUNK_RECORDS_BYTES || fill_bytes < *read_bytes) {
		/* Not of our agent's doing: nothing more is taken from this chunk. */
		if (*read_bytes != AGENT_CHUNK_RECORDS_BYTES)
			ring->damaged_count++;
		*read_bytes = AGENT_CHUNK_RECORDS_BYTES;
		return 0;
	}
	while (*read_bytes < fill_bytes && result >= 0) {
		if (!take_record(ring, chunk, fill_bytes, read_bytes)) {
			ring->damaged_count++;
			*read_bytes = fill_bytes;
			break;
		}
		count++;
		if (__atomic_load_n(&ring->ending, __ATOMIC_ACQUIRE))
			ring->last_bytes += ring->record.header.size_bytes;
		result = give(ring, callback, callback_data);
	}
	if (*read_bytes == fill_bytes && fill_bytes)
		chunk_recycle(ring, chunk, index);
	return result < 0 ? result : count;
}

int agent_ring_drain(void *data, record_callback callback, void *callback_data)
{
	struct agent_ring *ring = data;
	int count = 0;

	for (u32 i = 0; i < ring->config.chunk_count && !is_over(ring); i++) {
		int taken = chunk_drain(ring, i, callback, callback_data);

		if (taken < 0)
			return taken;
		count += taken;
	}
	return count;
}

void agent_ring_reclaim(struct agent_ring *ring)
{
	const struct agent_ring_config *config = &ring->config;

	for (u32 i = 0; i < config->chunk_count; i++) {
		struct agent_chunk *chunk = chunk_of(ring, i);
		u32 state = __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE);
		u32 holder = __atomic_load_n(&chunk->holder, __ATOMIC_RELAXED);

		if (state == AGENT_CHUNK_HELD && holder &&
		    !config->thread_lives(config->data, holder))
			chunk_take_over(chunk, holder);
	}
}

u64 agent_ring_damaged(const struct agent_ring *ring)
{
	return ring ? ring->damaged_count : 0;
}
