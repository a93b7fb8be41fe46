/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <errno.h>
#include <pthread.h>

#include "collect/agent/agent_ring.h"
#include "python/python_codes.h"

#define CHUNKS 4

/* The memory of an agent, without the agent. */
struct fixture {
	struct agent_control *control;
	struct agent_ring *ring;
	bool thread_lives;
	u64 count, last_correlation;
	u32 last_source, last_pid, last_tid;
	u64 last_ts, last_queued;
	int stop_after; /* records, then -ENOBUFS */
};

static u32 host_thread(void *data, u32 tid)
{
	return tid == 7 ? 0 : tid + 1000;
}

static bool thread_lives(void *data, u32 tid)
{
	return ((struct fixture *)data)->thread_lives;
}

static void fixture_begin(struct fixture *fixture, s64 shift_ns)
{
	struct agent_ring_config config = {.chunk_count = CHUNKS,
					   .source = 5,
					   .pid = 4242,
					   .clock_shift_ns = shift_ns,
					   .host_thread = host_thread,
					   .thread_lives = thread_lives,
					   .data = fixture};

	*fixture = (struct fixture){
		.control = calloc(1, AGENT_CONTROL_BYTES + CHUNKS * AGENT_CHUNK_BYTES)};
	config.control = fixture->control;
	CHECK(!agent_ring_create(&config, &fixture->ring));
}

static void fixture_end(struct fixture *fixture)
{
	CHECK(agent_ring_free(fixture->ring) == NULL);
	free(fixture->control);
}

static struct agent_chunk *chunk_at(struct fixture *fixture, u32 index)
{
	return (struct agent_chunk *)((u8 *)fixture->control + AGENT_CONTROL_BYTES +
				      index * AGENT_CHUNK_BYTES);
}

static int take(void *data, const struct record_header *record, size_t size_bytes)
{
	struct fixture *fixture = data;

	CHECK_U64(record->size_bytes, size_bytes);
	fixture->count++;
	fixture->last_source = record->source;
	fixture->last_pid = record->pid;
	fixture->last_tid = record->tid;
	fixture->last_ts = record->ts;
	if (record->kind == KIND_kernel) {
		fixture->last_correlation = ((const struct record_kernel *)record)->correlation;
		fixture->last_queued = ((const struct record_kernel *)record)->queued;
	}
	return fixture->stop_after && !--fixture->stop_after ? -ENOBUFS : 0;
}

static struct record_kernel kernel(u32 correlation)
{
	return (struct record_kernel){.header = {.size_bytes = sizeof(struct record_kernel),
						 .kind = KIND_kernel,
						 .source = 99,
						 .ts = 1000,
						 .dur = 10,
						 .pid = 1,
						 .tid = 3},
				      .queued = 900,
				      .correlation = correlation};
}

static void put(struct agent_chunk *chunk, const void *record, size_t size_bytes)
{
	memcpy(chunk->records + chunk->fill_bytes, record, size_bytes);
	__atomic_store_n(&chunk->fill_bytes, chunk->fill_bytes + size_bytes, __ATOMIC_RELEASE);
}

/* It goes on writing while it is read. */
static int take_and_refill(void *data, const struct record_header *record, size_t size_bytes)
{
	struct fixture *fixture = data;

	for (u32 i = 0; i < CHUNKS; i++) {
		struct agent_chunk *chunk = chunk_at(fixture, i);

		while (chunk->state != AGENT_CHUNK_FULL &&
		       chunk->fill_bytes + size_bytes <= sizeof(chunk->records)) {
			struct record_kernel record_again = kernel(1);

			put(chunk, &record_again, sizeof(record_again));
		}
		chunk->state = AGENT_CHUNK_FULL;
	}
	return take(data, record, size_bytes);
}

TEST(writing_on_does_not_keep_the_reader)
{
	struct fixture fixture;
	struct record_kernel record = kernel(1);
	u64 room = CHUNKS * (sizeof(chunk_at(&fixture, 0)->records) / sizeof(record));
	int taken = 0, rounds = 0;

	fixture_begin(&fixture, 0);
	put(chunk_at(&fixture, 0), &record, sizeof(record));
	CHECK(agent_ring_drain(fixture.ring, take_and_refill, &fixture) > 0);
	CHECK(agent_ring_drain(fixture.ring, take_and_refill, &fixture) > 0);
	agent_ring_end(fixture.ring);
	fixture.count = 0;
	do
		taken = agent_ring_drain(fixture.ring, take_and_refill, &fixture);
	while (taken && ++rounds < 100);
	CHECK_U64(taken, 0);
	CHECK(fixture.count >= room - CHUNKS && fixture.count <= room * 2);
	fixture_end(&fixture);
}

TEST(records_are_stamped_and_shifted)
{
	struct fixture fixture;
	struct record_kernel record = kernel(77);

	fixture_begin(&fixture, 5000);
	chunk_at(&fixture, 2)->state = AGENT_CHUNK_HELD;
	put(chunk_at(&fixture, 2), &record, sizeof(record));
	CHECK_U64(agent_ring_drain(fixture.ring, take, &fixture), 1);
	CHECK_U64(fixture.last_correlation, 77);
	CHECK_U64(fixture.last_source, 5);
	CHECK_U64(fixture.last_pid, 4242);
	CHECK_U64(fixture.last_tid, 1003);
	CHECK_U64(fixture.last_ts, 6000);
	CHECK_U64(fixture.last_queued, 5900);
	CHECK_U64(agent_ring_drain(fixture.ring, take, &fixture), 0);
	CHECK_U64(agent_ring_damaged(fixture.ring), 0);
	fixture_end(&fixture);
}

TEST(absent_times_stay_absent_and_unknown_threads_keep_their_number)
{
	struct fixture fixture;
	struct record_kernel record = kernel(1);

	record.queued = 0;
	record.header.tid = 7;
	fixture_begin(&fixture, 5000);
	put(chunk_at(&fixture, 0), &record, sizeof(record));
	CHECK_U64(agent_ring_drain(fixture.ring, take, &fixture), 1);
	CHECK_U64(fixture.last_queued, 0);
	CHECK_U64(fixture.last_tid, 7);
	fixture_end(&fixture);
}

TEST(a_round_that_is_stopped_goes_on_where_it_was)
{
	struct fixture fixture;

	fixture_begin(&fixture, 0);
	for (u32 i = 1; i <= 10; i++) {
		struct record_kernel record = kernel(i);

		put(chunk_at(&fixture, 0), &record, sizeof(record));
	}
	fixture.stop_after = 4;
	CHECK(agent_ring_drain(fixture.ring, take, &fixture) == -ENOBUFS);
	CHECK_U64(fixture.last_correlation, 4);
	CHECK_U64(agent_ring_drain(fixture.ring, take, &fixture), 6);
	CHECK_U64(fixture.last_correlation, 10);
	fixture_end(&fixture);
}

TEST(full_chunks_are_free_again_held_ones_are_left)
{
	struct fixture fixture;
	struct record_kernel record = kernel(1);
	struct agent_chunk *full, *held, *partial;

	fixture_begin(&fixture, 0);
	full = chunk_at(&fixture, 0);
	held = chunk_at(&fixture, 1);
	partial = chunk_at(&fixture, 2);
	full->state = AGENT_CHUNK_FULL;
	held->state = AGENT_CHUNK_HELD;
	partial->state = AGENT_CHUNK_PARTIAL;
	put(full, &record, sizeof(record));
	put(held, &record, sizeof(record));
	put(partial, &record, sizeof(record));
	CHECK_U64(agent_ring_drain(fixture.ring, take, &fixture), 3);
	CHECK_U64(full->state, AGENT_CHUNK_FREE);
	CHECK_U64(full->fill_bytes, 0);
	CHECK_U64(held->state, AGENT_CHUNK_HELD);
	/* There is room in it yet. */
	CHECK_U64(partial->state, AGENT_CHUNK_PARTIAL);
	put(partial, &record, sizeof(record));
	CHECK_U64(agent_ring_drain(fixture.ring, take, &fixture), 1);
	fixture_end(&fixture);
}

TEST(what_a_dead_thread_held_is_taken)
{
	struct fixture fixture;
	struct record_kernel record = kernel(1);
	struct agent_chunk *chunk;

	fixture_begin(&fixture, 0);
	chunk = chunk_at(&fixture, 3);
	chunk->state = AGENT_CHUNK_HELD;
	chunk->holder = 55;
	put(chunk, &record, sizeof(record));
	fixture.thread_lives = true;
	agent_ring_reclaim(fixture.ring);
	CHECK_U64(chunk->state, AGENT_CHUNK_HELD);
	fixture.thread_lives = false;
	agent_ring_reclaim(fixture.ring);
	CHECK_U64(chunk->state, AGENT_CHUNK_FULL);
	CHECK_U64(agent_ring_drain(fixture.ring, take, &fixture), 1);
	CHECK_U64(chunk->state, AGENT_CHUNK_FREE);
	/* Taken, but not said by whom yet: it may be alive. */
	chunk->state = AGENT_CHUNK_HELD;
	agent_ring_reclaim(fixture.ring);
	CHECK_U64(chunk->state, AGENT_CHUNK_HELD);
	fixture_end(&fixture);
}

/* A target can write what it wants. */
TEST(nothing_that_is_written_there_is_believed)
{
	static const struct {
		u16 size_bytes, kind;
	} bad[] = {
		{0, KIND_kernel},
		{8, KIND_kernel},
		{39, KIND_kernel},
		{sizeof(struct record_kernel) - 8, KIND_kernel},
		{sizeof(struct record_kernel) + 8, KIND_kernel},
		{65528, KIND_kernel},
		{sizeof(struct record_call), KIND_call}, /* known, but none of an agent's */
		{sizeof(struct record_loss), KIND_loss},
		{48, 9999},
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct fixture fixture;
		struct record_kernel record = kernel(1), first = kernel(2);

		record.header.size_bytes = bad[i].size_bytes;
		record.header.kind = bad[i].kind;
		fixture_begin(&fixture, 0);
		put(chunk_at(&fixture, 0), &first, sizeof(first));
		put(chunk_at(&fixture, 0), &record, sizeof(record));
		CHECK_U64(agent_ring_drain(fixture.ring, take, &fixture), 1);
		CHECK_U64(agent_ring_damaged(fixture.ring), 1);
		CHECK_U64(fixture.last_correlation, 2);
		fixture_end(&fixture);
	}
}

TEST(lengths_beyond_the_chunk_and_backwards)
{
	struct fixture fixture;
	struct record_kernel record = kernel(1);
	struct agent_chunk *chunk;

	fixture_begin(&fixture, 0);
	chunk = chunk_at(&fixture, 0);
	chunk->fill_bytes = 0xfffffff8;
	CHECK_U64(agent_ring_drain(fixture.ring, take, &fixture), 0);
	CHECK_U64(agent_ring_damaged(fixture.ring), 1);
	CHECK_U64(agent_ring_drain(fixture.ring, take, &fixture), 0);
	CHECK_U64(agent_ring_damaged(fixture.ring), 1);
	chunk = chunk_at(&fixture, 1);
	put(chunk, &record, sizeof(record));
	put(chunk, &record, sizeof(record));
	CHECK_U64(agent_ring_drain(fixture.ring, take, &fixture), 2);
	chunk->fill_bytes = 8;
	CHECK_U64(agent_ring_drain(fixture.ring, take, &fixture), 0);
	CHECK_U64(agent_ring_damaged(fixture.ring), 2);
	/* Not even a whole header. */
	chunk_at(&fixture, 2)->fill_bytes = 13;
	CHECK_U64(agent_ring_drain(fixture.ring, take, &fixture), 0);
	CHECK_U64(agent_ring_damaged(fixture.ring), 3);
	fixture_end(&fixture);
}

/* A producer that works while it is read: nothing is lost, nothing comes twice. */
#define CONCURRENT 20000

static void *produce(void *data)
{
	struct fixture *fixture = data;

	for (u32 i = 1; i <= CONCURRENT;) {
		for (u32 c = 0; c < CHUNKS && i <= CONCURRENT; c++) {
			struct agent_chunk *chunk = chunk_at(fixture, c);
			u32 state = __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE);

			if ((state != AGENT_CHUNK_FREE && state != AGENT_CHUNK_PARTIAL) ||
			    !__atomic_compare_exchange_n(&chunk->state, &state, AGENT_CHUNK_HELD,
							 false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
				continue;
			for (u32 n = 0; n < 50 && i <= CONCURRENT; n++) {
				struct record_kernel record = kernel(i);

				if (chunk->fill_bytes + sizeof(record) > AGENT_CHUNK_RECORDS_BYTES)
					break;
				put(chunk, &record, sizeof(record));
				i++;
			}
			__atomic_store_n(&chunk->state,
					 chunk->fill_bytes + sizeof(struct record_kernel) >
							 AGENT_CHUNK_RECORDS_BYTES
						 ? AGENT_CHUNK_FULL
						 : AGENT_CHUNK_PARTIAL,
					 __ATOMIC_RELEASE);
		}
	}
	return NULL;
}

static int sum_up(void *data, const struct record_header *record, size_t size_bytes)
{
	struct fixture *fixture = data;

	fixture->count++;
	fixture->last_correlation += ((const struct record_kernel *)record)->correlation;
	return 0;
}

TEST(read_while_it_is_written)
{
	struct fixture fixture;
	pthread_t thread;

	fixture_begin(&fixture, 0);
	CHECK(!pthread_create(&thread, NULL, produce, &fixture));
	while (fixture.count < CONCURRENT && !agent_ring_damaged(fixture.ring))
		agent_ring_drain(fixture.ring, sum_up, &fixture);
	pthread_join(thread, NULL);
	CHECK_U64(agent_ring_drain(fixture.ring, sum_up, &fixture), 0);
	CHECK_U64(fixture.count, CONCURRENT);
	CHECK_U64(fixture.last_correlation, (u64)CONCURRENT * (CONCURRENT + 1) / 2);
	CHECK_U64(agent_ring_damaged(fixture.ring), 0);
	fixture_end(&fixture);
}

static void add_code(struct fixture *fixture, u32 id, u32 lines_bytes)
{
	struct {
		struct record_header header;
		struct python_code code;
	} record = {.header = {.size_bytes = sizeof(record.header) +
					     offsetof(struct python_code, lines) + 8,
			       .kind = AGENT_KIND_PYTHON_CODE},
		    .code = {.id = id,
			     .first_line = 3,
			     .lines_bytes = lines_bytes,
			     .name = {.bytes = 4},
			     .file = {.bytes = 4},
			     .name_bytes = "name",
			     .file_bytes = "file"}};

	put(chunk_at(fixture, 0), &record, record.header.size_bytes);
}

TEST(code_objects_of_python_are_its_own_or_none)
{
	struct python_codes codes = {0};
	struct agent_ring_config config = {
		.chunk_count = CHUNKS, .host_thread = host_thread, .thread_lives = thread_lives};
	struct fixture fixture;

	fixture_begin(&fixture, 0);
	/* Nobody wants them. */
	add_code(&fixture, 5, 0);
	CHECK_U64(agent_ring_drain(fixture.ring, take, &fixture), 1);
	CHECK_U64(agent_ring_damaged(fixture.ring), 1);
	agent_ring_free(fixture.ring);
	config.control = fixture.control;
	config.data = &fixture;
	config.codes = &codes;
	config.first_code = 1 << 30;
	memset(chunk_at(&fixture, 0), 0, AGENT_CHUNK_BYTES);
	CHECK(!agent_ring_create(&config, &fixture.ring));
	add_code(&fixture, (1 << 30) + 5, 0);
	add_code(&fixture, 5, 0);
	/* It has been. */
	add_code(&fixture, (1 << 30) + 5, 0);
	add_code(&fixture, (1 << 30) + AGENT_PYTHON_CODES, 0);
	/* More lines than there are. */
	add_code(&fixture, (1 << 30) + 6, 100);
	CHECK_U64(agent_ring_drain(fixture.ring, take, &fixture), 5);
	CHECK_U64(agent_ring_damaged(fixture.ring), 3);
	CHECK_U64(codes.count, 1);
	CHECK_STRING(codes.items[0].name, "name");
	CHECK_U64(fixture.count, 0);
	python_codes_free(&codes);
	fixture_end(&fixture);
}

UNIT_MAIN()
