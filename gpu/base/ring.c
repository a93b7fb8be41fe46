/* SPDX-License-Identifier: MIT */
#include "ring.h"

/* Chunks looked at for one reservation, so that a full ring costs little: from where the writer has been, then from the
 * last that anybody took. */
#define OWN_CHUNKS_TRIED 8
#define CHUNKS_TRIED	 64

/* The first two words of a chunk, changed together. */
union chunk_head {
	struct {
		u32 state, holder;
	};
	u64 both;
};

static struct agent_chunk *chunk_at(const struct ring *ring, u32 index)
{
	return (struct agent_chunk *)((u8 *)ring->control + AGENT_CONTROL_BYTES +
				      (size_t)index * AGENT_CHUNK_BYTES);
}

void ring_open(struct ring *ring, struct agent_control *control, size_t mapped_bytes)
{
	u32 count = __atomic_load_n(&control->chunk_count, __ATOMIC_RELAXED);
	size_t room = mapped_bytes < AGENT_CONTROL_BYTES
			      ? 0
			      : (mapped_bytes - AGENT_CONTROL_BYTES) / AGENT_CHUNK_BYTES;

	ring->control = control;
	ring->chunk_count = count < room ? count : room;
}

void ring_writer_open(struct ring_writer *writer, const struct ring *ring, u32 tid)
{
	*writer = (struct ring_writer){.ring = ring, .tid = tid};
}

/* Takes a chunk that is free, or partly filled with room for bytes. */
static bool chunk_take(struct agent_chunk *chunk, u32 tid, u32 bytes)
{
	union chunk_head head = {.both = __atomic_load_n((u64 *)chunk, __ATOMIC_ACQUIRE)};
	union chunk_head held = {{AGENT_CHUNK_HELD, tid}};
	bool was_free = head.state == AGENT_CHUNK_FREE;

	if (!was_free && head.state != AGENT_CHUNK_PARTIAL)
		return false;
	if (!was_free && __atomic_load_n(&chunk->fill_bytes, __ATOMIC_RELAXED) + bytes >
				 AGENT_CHUNK_RECORDS_BYTES)
		return false;
	/* gpuprobe has emptied it before it set it free; filled again in between, it has another state. */
	if (!__atomic_compare_exchange_n((u64 *)chunk, &head.both, held.both, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	if (was_free)
		__atomic_store_n(&chunk->fill_bytes, 0, __ATOMIC_RELEASE);
	return true;
}

static void chunk_leave(struct agent_chunk *chunk, u32 state)
{
	union chunk_head head = {{state, 0}};

	__atomic_store_n((u64 *)chunk, head.both, __ATOMIC_RELEASE);
}

/* Of many at a time: all that write share the counter. */
static void count_records(struct ring_writer *writer)
{
	ring_count(writer->ring, AGENT_COUNT_RECORDS, writer->uncounted);
	writer->uncounted = 0;
}

static bool has_room(const struct agent_chunk *chunk, u32 bytes)
{
	return chunk && chunk->fill_bytes + bytes <= AGENT_CHUNK_RECORDS_BYTES;
}

/* All up to index are taken, if it lies before where the others are. */
static void note_taken(const struct ring *ring, u32 index)
{
	u32 *next = &ring->control->next_chunk;
	u32 seen = __atomic_load_n(next, __ATOMIC_RELAXED);
	u32 ahead = (index + ring->chunk_count - seen % ring->chunk_count) % ring->chunk_count;

	/* Where it fails, somebody has gone on. */
	if (ahead && ahead <= ring->chunk_count / 2)
		__atomic_compare_exchange_n(next, &seen, seen + ahead, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
}

/* One of count chunks from first on; its index becomes the cursor. */
static bool take_near(struct ring_writer *writer, u32 first, u32 count, u32 bytes)
{
	const struct ring *ring = writer->ring;

	for (u32 i = 0; i < count && i < ring->chunk_count; i++) {
		u32 index = (first + i) % ring->chunk_count;
		struct agent_chunk *chunk = chunk_at(ring, index);

		if (!chunk_take(chunk, writer->tid, bytes))
			continue;
		note_taken(ring, index);
		if (has_room(chunk, bytes)) {
			writer->chunk = chunk;
			writer->cursor = index;
			return true;
		}
		/* A partial one that has grown between the look at it and the taking. */
		chunk_leave(chunk, AGENT_CHUNK_FULL);
	}
	return false;
}

void *ring_reserve(struct ring_writer *writer, u32 bytes)
{
	const struct ring *ring = writer->ring;
	u32 next;

	if (bytes > AGENT_CHUNK_RECORDS_BYTES || !ring->chunk_count)
		return NULL;
	if (writer->chunk && !has_room(writer->chunk, bytes)) {
		chunk_leave(writer->chunk, AGENT_CHUNK_FULL);
		writer->chunk = NULL;
		count_records(writer);
	}
	if (!writer->chunk && !take_near(writer, writer->cursor, OWN_CHUNKS_TRIED, bytes)) {
		next = __atomic_load_n(&ring->control->next_chunk, __ATOMIC_RELAXED) %
		       ring->chunk_count;
		if (!take_near(writer, next, CHUNKS_TRIED - OWN_CHUNKS_TRIED, bytes)) {
			note_taken(ring,
				   (next + CHUNKS_TRIED - OWN_CHUNKS_TRIED) % ring->chunk_count);
			return NULL;
		}
	}
	return writer->chunk->records + writer->chunk->fill_bytes;
}

void ring_commit(struct ring_writer *writer, u32 bytes)
{
	struct agent_chunk *chunk = writer->chunk;

	__atomic_store_n(&chunk->fill_bytes, chunk->fill_bytes + bytes, __ATOMIC_RELEASE);
	writer->uncounted++;
}

void ring_release(struct ring_writer *writer)
{
	if (!writer->chunk)
		return;
	/* Too little for most records: not worth being looked at again. */
	chunk_leave(writer->chunk, has_room(writer->chunk, AGENT_CHUNK_RECORDS_BYTES / 64)
					   ? AGENT_CHUNK_PARTIAL
					   : AGENT_CHUNK_FULL);
	writer->chunk = NULL;
	count_records(writer);
}

/* gpuprobe may be about to take it as full, or have done that. */
void ring_abandon(struct ring_writer *writer)
{
	union chunk_head held = {{AGENT_CHUNK_HELD, writer->tid}},
			 left = {{AGENT_CHUNK_PARTIAL, 0}};

	if (writer->chunk)
		__atomic_compare_exchange_n((u64 *)writer->chunk, &held.both, left.both, false,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	writer->chunk = NULL;
	count_records(writer);
}

void ring_count(const struct ring *ring, enum agent_counter counter, u64 count)
{
	__atomic_fetch_add(&ring->control->counters[counter], count, __ATOMIC_RELAXED);
}
