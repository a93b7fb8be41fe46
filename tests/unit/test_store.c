/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was written comes back, in order, also where writing was cut or failed. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "small_capture.h"
#include "store/capture_format.h"
#include "store/record_order.h"

TEST(a_small_capture_comes_back)
{
	int fd _cleanup_close_ = small_capture();
	struct capture_reader *reader = NULL;
	const struct record_header *const *facts;
	struct err err = {0};
	u64 first, last;
	size_t count;

	CHECK_OK(capture_reader_open(fd, &reader, &err), err);
	CHECK(!capture_reader_cut(reader));
	CHECK_U64(count_events(reader), 12);
	facts = capture_facts(reader, KIND_probe, &count);
	CHECK_U64(count, 1);
	CHECK_STRING(capture_text(reader, facts[0]->name), "function");
	CHECK(!capture_text(reader, 0));
	CHECK(!capture_text(reader, 2));
	CHECK(capture_reader_range(reader, &first, &last));
	CHECK_U64(first, 0);
	CHECK_U64(last, 235);
	for (u32 reason = 0; reason < 64; reason++)
		CHECK_U64(capture_reader_loss(reader, reason), 0);
	capture_reader_free(reader);
}

/* Killed at any instant: what is there are whole blocks from the start. */
TEST(a_file_cut_anywhere_is_a_prefix)
{
	int fd _cleanup_close_ = small_capture();
	u64 size = file_size(fd), last_count = 0;

	for (u64 length = 0; length < size; length++) {
		int cut _cleanup_close_ = memory_file();
		struct capture_reader *reader = NULL;
		struct err err = {0};
		char data[65536];
		u64 count;

		CHECK(size <= sizeof(data));
		CHECK(pread(fd, data, length, 0) == (ssize_t)length);
		CHECK(write(cut, data, length) == (ssize_t)length);
		if (length < sizeof(struct capture_file_header)) {
			CHECK(capture_reader_open(cut, &reader, &err) == -EINVAL);
			CHECK(err.message[0]);
			continue;
		}
		CHECK_OK(capture_reader_open(cut, &reader, &err), err);
		CHECK(capture_reader_cut(reader));
		count = count_events(reader);
		CHECK(count % 4 == 0 && count >= last_count);
		CHECK_U64(capture_reader_loss(reader, VALUE_loss_reason_recording_cut), 1);
		CHECK_U64(capture_reader_loss(reader, VALUE_loss_reason_record_damaged), 0);
		last_count = count;
		capture_reader_free(reader);
	}
	CHECK_U64(last_count, 12);
}

/* ---- order ---- */

struct expected {
	struct record_call call;
	size_t place;
};

static int compare_expected(const void *a, const void *b)
{
	const struct expected *first = a, *second = b;
	int order = record_compare(&first->call.header, &second->call.header);

	if (order)
		return order;
	return (first->place > second->place) - (first->place < second->place);
}

/* A call at a random time from base_ns on; few distinct durations, so that ties are common. */
static void random_call(struct record_call *call, u64 base_ns, u64 spread_ns)
{
	u64 dur = random_below(4) ? random_below(5) : RECORD_DURATION_OPEN;

	call->header = (struct record_header){
		.size_bytes = sizeof(*call),
		.kind = KIND_call,
		.source = RECORD_SOURCE_BPF + random_below(3),
		.ts = base_ns + random_below(spread_ns),
		.dur = dur,
		.pid = random_below(2),
		.tid = random_below(2),
	};
	call->probe = 1 + random_below(1000000);
}

/* The events come in the expected order. The made-up fact of a probe carries the id that was
 * written. */
static void check_order(struct capture_reader *reader, const struct expected *expected,
			size_t count)
{
	struct capture_cursor *cursor = NULL;
	const struct record_header *record;
	struct err err = {0};

	CHECK_OK(capture_cursor_open(reader, &cursor, &err), err);
	for (size_t i = 0; i < count; i++) {
		const struct record_header *const *probes;
		char name[16];
		u32 id;

		if (capture_cursor_next(cursor, &record, &err) != 1) {
			UNIT_FAIL("ends after %zu of %zu", i, count);
			break;
		}
		CHECK(record_compare(record, &expected[i].call.header) == 0);
		CHECK_U64(record->source, expected[i].call.header.source);
		id = ((const struct record_call *)record)->probe;
		probes = capture_facts(reader, KIND_probe, &(size_t){0});
		snprintf(name, sizeof(name), "#%u", expected[i].call.probe);
		CHECK_STRING(capture_text(reader, probes[id - 1]->name), name);
	}
	CHECK_U64(capture_cursor_next(cursor, &record, &err), 0);
	capture_cursor_free(cursor);
}

/* Batches of random calls that overlap come back as if they had been sorted together. */
static void check_merge(unsigned batches, unsigned per_batch, u64 spread_ns, u64 step_ns)
{
	struct expected *expected _cleanup_free_ =
		calloc(batches * per_batch + 1, sizeof(*expected));
	struct capture_reader *reader = NULL;
	struct capture_writer *writer = NULL;
	int fd _cleanup_close_ = memory_file();
	struct batch *batch = NULL;
	struct err err = {0};
	size_t count = 0;

	CHECK(batch_create(&batch) == 0);
	CHECK_OK(capture_writer_create(fd, &writer, &err), err);
	for (unsigned i = 0; i < batches; i++) {
		for (unsigned j = 0; j < per_batch; j++, count++) {
			expected[count].place = count;
			random_call(&expected[count].call, i * step_ns, spread_ns);
			CHECK(batch_add(batch, &expected[count].call.header) == 0);
		}
		CHECK_OK(capture_writer_append(writer, batch, &err), err);
		batch_clear(batch);
	}
	CHECK_OK(capture_writer_finish(writer, &err), err);
	qsort(expected, count, sizeof(*expected), compare_expected);
	CHECK_OK(capture_reader_open(fd, &reader, &err), err);
	check_order(reader, expected, count);
	capture_reader_free(reader);
	capture_writer_free(writer);
	batch_free(batch);
}

TEST(merged_is_sorted)
{
	check_merge(1, 1, 1, 0);
	check_merge(1, 1000, 7, 0);
	check_merge(40, 25, 50, 10);
	check_merge(200, 20, 1000, 3);
	check_merge(3, 5000, 1ULL << 40, 1ULL << 39);
	/* Each block begins at the same moment. */
	check_merge(300, 10, 2, 0);
	/* Times that differ in the highest bits only. */
	check_merge(2, 500, ~0ULL >> 33, 1ULL << 63);
}

TEST(two_cursors_at_once)
{
	int fd _cleanup_close_ = small_capture();
	struct capture_cursor *first = NULL, *second = NULL;
	const struct record_header *a, *b;
	struct capture_reader *reader = NULL;
	struct err err = {0};

	CHECK_OK(capture_reader_open(fd, &reader, &err), err);
	CHECK_OK(capture_cursor_open(reader, &first, &err), err);
	CHECK_OK(capture_cursor_open(reader, &second, &err), err);
	CHECK_U64(capture_cursor_next(first, &a, &err), 1);
	CHECK_U64(capture_cursor_next(first, &a, &err), 1);
	CHECK_U64(capture_cursor_next(second, &b, &err), 1);
	CHECK_U64(a->ts, 10);
	CHECK_U64(b->ts, 0);
	capture_cursor_free(first);
	capture_cursor_free(second);
	capture_reader_free(reader);
}

TEST(a_large_batch_becomes_several_blocks)
{
	const u64 count = 100000;
	struct capture_reader *reader = NULL;
	struct capture_writer *writer = NULL;
	int fd _cleanup_close_ = memory_file();
	struct capture_block_header header;
	struct batch *batch = NULL;
	struct err err = {0};
	u64 offset = sizeof(struct capture_file_header), blocks = 0;

	CHECK(batch_create(&batch) == 0);
	CHECK_OK(capture_writer_create(fd, &writer, &err), err);
	for (u64 i = 0; i < count; i++)
		add_call(batch, count - i, 1, 1, 1);
	CHECK_U64(batch_event_count(batch), count);
	CHECK_U64(batch_size_bytes(batch), count * sizeof(struct record_call));
	CHECK_OK(capture_writer_append(writer, batch, &err), err);
	CHECK_OK(capture_writer_finish(writer, &err), err);
	while (pread(fd, &header, sizeof(header), offset) == sizeof(header)) {
		CHECK(header.type == CAPTURE_BLOCK_END ||
		      header.payload_bytes <= CAPTURE_PAYLOAD_MAX);
		blocks += header.type == CAPTURE_BLOCK_EVENTS;
		offset += sizeof(header) + header.payload_bytes;
	}
	CHECK_U64(blocks, (count * sizeof(struct record_call) + CAPTURE_PAYLOAD_MAX - 1) /
				  CAPTURE_PAYLOAD_MAX);
	CHECK_OK(capture_reader_open(fd, &reader, &err), err);
	CHECK_U64(count_events(reader), count);
	capture_reader_free(reader);
	capture_writer_free(writer);
	batch_free(batch);
}

/* ---- writing that fails ---- */

TEST(a_full_disk_leaves_whole_blocks)
{
	struct rlimit unlimited, small;
	struct capture_reader *reader = NULL;
	struct capture_writer *writer = NULL;
	int fd _cleanup_close_ = memory_file();
	struct batch *batch = NULL;
	struct err err = {0};
	u64 good;

	CHECK(batch_create(&batch) == 0);
	CHECK_OK(capture_writer_create(fd, &writer, &err), err);
	for (u64 i = 0; i < 100; i++)
		add_call(batch, i, 1, 1, 1);
	CHECK_OK(capture_writer_append(writer, batch, &err), err);
	good = file_size(fd);
	/* Room for half of the next block. */
	signal(SIGXFSZ, SIG_IGN);
	CHECK(getrlimit(RLIMIT_FSIZE, &unlimited) == 0);
	small = (struct rlimit){.rlim_cur = good + 3000, .rlim_max = unlimited.rlim_max};
	CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
	CHECK(capture_writer_append(writer, batch, &err) == -EFBIG);
	CHECK(setrlimit(RLIMIT_FSIZE, &unlimited) == 0);
	CHECK(strstr(err.message, "can't write the capture"));
	CHECK_U64(file_size(fd), good);
	CHECK(capture_writer_append(writer, batch, &err) == -EFBIG);
	CHECK(capture_writer_finish(writer, &err) == -EFBIG);
	CHECK_U64(file_size(fd), good);
	CHECK_OK(capture_reader_open(fd, &reader, &err), err);
	CHECK(capture_reader_cut(reader));
	CHECK_U64(count_events(reader), 100);
	capture_reader_free(reader);
	capture_writer_free(writer);
	batch_free(batch);
}

UNIT_MAIN()
