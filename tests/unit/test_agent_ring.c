/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The producing side of the ring that an agent writes, read here as gpuprobe would. */
#include "unit.h"

#include <sys/mman.h>

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

#include "../gpu/base/ring.h"
#include "../gpu/base/streams.h"
#include "../gpu/base/texts.h"
#include "../bpf/record.h"

#define THREADS		   4
#define RECORDS_PER_THREAD 50000

struct memory {
	size_t bytes;
	struct agent_control *control;
};

static struct memory memory_make(u32 chunks)
{
	struct memory memory = {.bytes = AGENT_CONTROL_BYTES + (size_t)chunks * AGENT_CHUNK_BYTES};

	memory.control = aligned_alloc(4096, (memory.bytes + 4095) & ~4095UL);
	memset(memory.control, 0, memory.bytes);
	memory.control->chunk_count = chunks;
	return memory;
}

static struct agent_chunk *chunk_at(const struct memory *memory, u32 index)
{
	return (struct agent_chunk *)((u8 *)memory->control + AGENT_CONTROL_BYTES +
				      (size_t)index * AGENT_CHUNK_BYTES);
}

static void write_entry(struct ring_writer *writer, u32 tid, u64 number, u64 *dropped)
{
	struct record_entry *record = ring_reserve(writer, sizeof(*record));

	if (!record) {
		++*dropped;
		return;
	}
	*record = (struct record_entry){.header = {.size_bytes = sizeof(*record),
						   .kind = KIND_entry,
						   .ts = number,
						   .tid = tid}};
	ring_commit(writer, sizeof(*record));
}

TEST(records_stand_one_behind_the_other_and_the_rest_of_a_chunk_is_used_again)
{
	struct memory memory = memory_make(2);
	struct ring_writer first, second;
	struct ring ring;
	u64 dropped = 0;

	ring_open(&ring, memory.control, memory.bytes);
	ring_writer_open(&first, &ring, 11);
	ring_writer_open(&second, &ring, 12);
	write_entry(&first, 11, 1, &dropped);
	CHECK_U64(chunk_at(&memory, 0)->state, AGENT_CHUNK_HELD);
	CHECK_U64(chunk_at(&memory, 0)->holder, 11);
	CHECK_U64(chunk_at(&memory, 0)->fill_bytes, sizeof(struct record_entry));
	/* It is held: the second writer takes the next one. */
	write_entry(&second, 12, 2, &dropped);
	CHECK_U64(chunk_at(&memory, 1)->holder, 12);
	ring_release(&first);
	CHECK_U64(chunk_at(&memory, 0)->state, AGENT_CHUNK_PARTIAL);
	CHECK_U64(chunk_at(&memory, 0)->holder, 0);
	ring_release(&second);
	write_entry(&second, 12, 3, &dropped);
	CHECK_U64(chunk_at(&memory, 1)->fill_bytes, 2 * sizeof(struct record_entry));
	CHECK_U64(dropped, 0);
	ring_release(&second);
	CHECK_U64(memory.control->counters[AGENT_COUNT_RECORDS], 3);
	free(memory.control);
}

TEST(without_a_free_chunk_there_is_no_room_and_nothing_waits)
{
	struct memory memory = memory_make(1);
	struct ring_writer writer;
	struct ring ring;
	u64 dropped = 0;
	const u32 fit = AGENT_CHUNK_RECORDS_BYTES / sizeof(struct record_entry);

	ring_open(&ring, memory.control, memory.bytes);
	ring_writer_open(&writer, &ring, 11);
	for (u32 i = 0; i < fit + 5; i++)
		write_entry(&writer, 11, i + 1, &dropped);
	CHECK_U64(dropped, 5);
	CHECK_U64(chunk_at(&memory, 0)->state, AGENT_CHUNK_FULL);
	CHECK(!ring_reserve(&writer, AGENT_CHUNK_BYTES));
	/* gpuprobe empties it: there is room again. */
	chunk_at(&memory, 0)->fill_bytes = 0;
	chunk_at(&memory, 0)->state = AGENT_CHUNK_FREE;
	write_entry(&writer, 11, 1, &dropped);
	CHECK_U64(dropped, 5);
	free(memory.control);
}

TEST(a_number_of_chunks_that_is_not_mapped_is_not_believed)
{
	struct memory memory = memory_make(1);
	struct ring ring;

	memory.control->chunk_count = 4000;
	ring_open(&ring, memory.control, memory.bytes);
	CHECK_U64(ring.chunk_count, 1);
	ring_open(&ring, memory.control, AGENT_CONTROL_BYTES - 1);
	CHECK_U64(ring.chunk_count, 0);
	free(memory.control);
}

struct producer {
	pthread_t thread;
	struct ring *ring;
	u32 tid;
	u64 dropped;
};

static void *produce(void *data)
{
	struct producer *producer = data;
	struct ring_writer writer;

	ring_writer_open(&writer, producer->ring, producer->tid);
	for (u64 i = 1; i <= RECORDS_PER_THREAD; i++) {
		u64 before = producer->dropped;

		write_entry(&writer, producer->tid, i, &producer->dropped);
		if (i % 37 == 0 || producer->dropped != before) {
			ring_release(&writer);
			sched_yield();
		}
	}
	ring_release(&writer);
	return NULL;
}

struct consumer {
	struct memory memory;
	u32 chunks;
	u32 *read_bytes;
	u64 count[THREADS];
	u64 last[THREADS];
	bool seen[THREADS][RECORDS_PER_THREAD + 1];
	u64 wrong;
};

static void consume_chunk(struct consumer *consumer, u32 index)
{
	struct agent_chunk *chunk = chunk_at(&consumer->memory, index);
	u32 state = __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE);
	u32 partial = AGENT_CHUNK_PARTIAL;
	u32 fill = __atomic_load_n(&chunk->fill_bytes, __ATOMIC_ACQUIRE);

	for (; consumer->read_bytes[index] < fill;
	     consumer->read_bytes[index] += sizeof(struct record_entry)) {
		const struct record_entry *record =
			(const void *)(chunk->records + consumer->read_bytes[index]);
		u32 tid = record->header.tid;
		u64 number = record->header.ts;

		if (record->header.size_bytes != sizeof(*record) || tid >= THREADS || !number ||
		    number > RECORDS_PER_THREAD || consumer->seen[tid][number]) {
			consumer->wrong++;
			continue;
		}
		consumer->seen[tid][number] = true;
		consumer->count[tid]++;
	}
	if (state == AGENT_CHUNK_PARTIAL &&
	    __atomic_compare_exchange_n(&chunk->state, &partial, AGENT_CHUNK_TAKEN, false,
					__ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		if (__atomic_load_n(&chunk->fill_bytes, __ATOMIC_ACQUIRE) != fill) {
			__atomic_store_n(&chunk->state, AGENT_CHUNK_PARTIAL, __ATOMIC_RELEASE);
			return;
		}
	} else if (state != AGENT_CHUNK_FULL) {
		return;
	}
	if (__atomic_load_n(&chunk->fill_bytes, __ATOMIC_ACQUIRE) != consumer->read_bytes[index])
		return;
	consumer->read_bytes[index] = 0;
	__atomic_store_n(&chunk->fill_bytes, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&chunk->holder, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&chunk->state, AGENT_CHUNK_FREE, __ATOMIC_RELEASE);
}

/* chunks: few of them make the ring full, many leave room for all. */
static void several_threads(u32 chunks)
{
	struct consumer *consumer = calloc(1, sizeof(*consumer));
	struct producer producers[THREADS];
	struct ring ring;
	u64 dropped = 0, read = 0;

	consumer->memory = memory_make(chunks);
	consumer->chunks = chunks;
	consumer->read_bytes = calloc(chunks, sizeof(u32));
	ring_open(&ring, consumer->memory.control, consumer->memory.bytes);
	for (u32 i = 0; i < THREADS; i++) {
		producers[i] = (struct producer){.ring = &ring, .tid = i};
		pthread_create(&producers[i].thread, NULL, produce, &producers[i]);
	}
	for (u32 round = 0; round < 2000; round++)
		for (u32 i = 0; i < chunks; i++)
			consume_chunk(consumer, i);
	for (u32 i = 0; i < THREADS; i++)
		pthread_join(producers[i].thread, NULL);
	for (u32 round = 0; round < 2; round++)
		for (u32 i = 0; i < chunks; i++)
			consume_chunk(consumer, i);
	for (u32 i = 0; i < THREADS; i++) {
		dropped += producers[i].dropped;
		read += consumer->count[i];
	}
	CHECK_U64(consumer->wrong, 0);
	CHECK_U64(read + dropped, (u64)THREADS * RECORDS_PER_THREAD);
	CHECK_U64(consumer->memory.control->counters[AGENT_COUNT_RECORDS], read);
	CHECK(read > 0);
	if (chunks * (AGENT_CHUNK_RECORDS_BYTES / sizeof(struct record_entry)) >
	    2 * THREADS * RECORDS_PER_THREAD)
		CHECK_U64(dropped, 0);
	free(consumer->read_bytes);
	free(consumer->memory.control);
	free(consumer);
}

TEST(what_several_threads_write_is_read_once_each_or_counted_as_dropped)
{
	several_threads(6);
}

TEST(nothing_is_dropped_while_there_is_room)
{
	several_threads(2 * THREADS * RECORDS_PER_THREAD /
				(AGENT_CHUNK_RECORDS_BYTES / sizeof(struct record_entry)) +
			8);
}

TEST(who_comes_late_finds_what_is_free_behind_many_full_ones)
{
	struct memory memory = memory_make(400);
	struct ring_writer first, late;
	struct ring ring;

	ring_open(&ring, memory.control, memory.bytes);
	ring_writer_open(&first, &ring, 1);
	for (u32 i = 0; i < 300; i++) {
		CHECK(ring_reserve(&first, AGENT_CHUNK_RECORDS_BYTES / 2 + 8) != NULL);
		ring_commit(&first, AGENT_CHUNK_RECORDS_BYTES / 2 + 8);
	}
	ring_writer_open(&late, &ring, 2);
	CHECK(ring_reserve(&late, 64) != NULL);
	/* Elsewhere too. */
	ring_release(&late);
	late.cursor = 150;
	CHECK(ring_reserve(&late, AGENT_CHUNK_RECORDS_BYTES) != NULL);
	free(memory.control);
}

/* ---- texts and streams ---- */

TEST(a_text_is_sent_once_and_only_counts_as_sent_when_there_was_room)
{
	struct memory memory = memory_make(1);
	struct texts *texts = texts_open(3, 77);
	const struct record_text *record = (const void *)chunk_at(&memory, 0)->records;
	struct ring_writer writer;
	struct ring ring;
	u32 id;

	ring_open(&ring, memory.control, memory.bytes);
	ring_writer_open(&writer, &ring, 1);
	ring.chunk_count = 0; /* no room */
	id = texts_put(texts, &writer, "kernel");
	CHECK(id != 0);
	CHECK_U64(memory.control->counters[AGENT_COUNT_RECORDS], 0);
	ring.chunk_count = 1;
	CHECK_U64(texts_put(texts, &writer, "kernel"), id);
	CHECK_U64(texts_put(texts, &writer, "kernel"), id);
	ring_release(&writer);
	CHECK_U64(memory.control->counters[AGENT_COUNT_RECORDS], 1);
	CHECK_U64(record->header.kind, KIND_text);
	CHECK_U64(record->header.ts, 77);
	CHECK_U64(record->id, id);
	CHECK_U64(record->length_bytes, 6);
	CHECK(!memcmp(record + 1, "kernel\0", 8));
	CHECK_U64(texts_put(texts, &writer, ""), 0);
	CHECK_U64(texts_put(texts, &writer, NULL), 0);
	/* Over the number: referred to as 0, and counted. */
	CHECK(texts_put(texts, &writer, "b") && texts_put(texts, &writer, "c"));
	CHECK_U64(texts_put(texts, &writer, "d"), 0);
	CHECK_U64(memory.control->counters[AGENT_COUNT_FACTS_CAPPED], 1);
	CHECK_U64(texts_put(texts, &writer, "kernel"), id);
	texts_close(texts);
	free(memory.control);
}

/* A module that is unloaded leaves its place to another one's names: an address alone says nothing. */
TEST(a_text_is_found_by_its_address_as_long_as_it_stands_there)
{
	struct memory memory = memory_make(1);
	struct texts *texts = texts_open(100, 77);
	char *pages = mmap(NULL, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *name = pages + PAGE_BYTES - 20;
	struct ring_writer writer;
	struct ring ring;
	u32 longer, shorter;

	ring_open(&ring, memory.control, memory.bytes);
	ring_writer_open(&writer, &ring, 1);
	/* Nothing behind its end may be read. */
	CHECK(pages != MAP_FAILED && !mprotect(pages + PAGE_BYTES, PAGE_BYTES, PROT_NONE));
	strcpy(name, "a_kernel_of_19_byte");
	longer = texts_put(texts, &writer, name);
	CHECK(longer);
	CHECK_U64(texts_put(texts, &writer, name), longer);
	strcpy(name, "a_kernel_of_19_bits");
	CHECK(texts_put(texts, &writer, name) != longer);
	strcpy(name, "a_kernel_of_19_byte");
	CHECK_U64(texts_put(texts, &writer, name), longer);
	/* What begins as it did, and goes on or ends elsewhere. */
	name[12] = '\0';
	shorter = texts_put(texts, &writer, name);
	CHECK(shorter && shorter != longer);
	CHECK_U64(texts_put(texts, &writer, name), shorter);
	name[12] = '1';
	CHECK_U64(texts_put(texts, &writer, name), longer);
	CHECK_U64(texts_put(texts, &writer, "a_kernel_of_19_byte"), longer);
	for (u32 end = 1; end < 20; end++) {
		char *last = pages + PAGE_BYTES - end;

		memset(last, 'x', end - 1);
		last[end - 1] = '\0';
		longer = texts_put(texts, &writer, last);
		CHECK_U64(texts_put(texts, &writer, last), longer);
		CHECK((longer == 0) == (end == 1));
	}
	munmap(pages, 2 * PAGE_BYTES);
	texts_close(texts);
	free(memory.control);
}

TEST(streams_of_two_contexts_with_the_same_number_are_two)
{
	struct memory memory = memory_make(1);
	struct streams *streams = streams_open(42, 77);
	const struct record_stream *record = (const void *)chunk_at(&memory, 0)->records;
	struct ring_writer writer;
	struct ring ring;
	u32 a, b;

	ring_open(&ring, memory.control, memory.bytes);
	ring_writer_open(&writer, &ring, 1);
	a = streams_put(streams, &writer, 1, 0, 7);
	b = streams_put(streams, &writer, 2, 0xffffffff, 7);
	CHECK(a != b);
	CHECK_U64(streams_put(streams, &writer, 1, 0, 7), a);
	ring_release(&writer);
	CHECK_U64(memory.control->counters[AGENT_COUNT_RECORDS], 2);
	CHECK_U64(record[0].header.pid, 42);
	CHECK_U64(record[0].context, 1);
	CHECK_U64(record[0].number, 7);
	CHECK_U64(record[1].device, 0xffffffff);
	/* Its device becomes known: the fact is sent again. */
	CHECK_U64(streams_put(streams, &writer, 2, 3, 7), b);
	CHECK_U64(record[2].id, b);
	CHECK_U64(record[2].device, 3);
	streams_set_context(streams, &writer, 2, 3);
	CHECK_U64(streams_device(streams, 2), 3);
	CHECK_U64(streams_device(streams, 9), 0xffffffff);
	streams_close(streams);
	free(memory.control);
}

UNIT_MAIN()
