/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "capture_build.h"
#include "store/capture_format.h"
#include "store/record_order.h"

/* A small generator of our own: the same numbers on every machine. */
static u64 random_state = 1;

static u64 random_below(u64 limit)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (random_state >> 33) % limit;
}

/* Facts and three blocks of events. */
static int small_capture(void)
{
	struct capture_writer *writer = NULL;
	struct batch *batch = NULL;
	int fd = memory_file();
	struct err err = {0};

	CHECK(batch_create(&batch) == 0);
	CHECK_OK(capture_writer_create(fd, &writer, &err), err);
	CHECK(batch_add_text(batch, RECORD_SOURCE_BPF, 1, "function", 8) == 0);
	add_probe(batch, RECORD_SOURCE_BPF, 1, 1);
	for (unsigned block = 0; block < 3; block++) {
		for (unsigned i = 0; i < 4; i++)
			add_call(batch, 100 * block + 10 * i, 5, 1, 1);
		CHECK_OK(capture_writer_append(writer, batch, &err), err);
		batch_clear(batch);
	}
	CHECK_OK(capture_writer_finish(writer, &err), err);
	capture_writer_free(writer);
	batch_free(batch);
	return fd;
}

/* Number of events; checks their order and that all of them can be touched. */
static u64 count_events(struct capture_reader *reader)
{
	struct capture_cursor *cursor = NULL;
	const struct record_header *record;
	struct err err = {0};
	u64 count = 0, last = 0;
	int result;

	CHECK_OK(capture_cursor_open(reader, &cursor, &err), err);
	while ((result = capture_cursor_next(cursor, &record, &err)) > 0) {
		const struct schema_kind *kind = schema_kind(record->kind);

		CHECK(kind && kind->shape != SHAPE_FACT);
		CHECK(record->ts >= last);
		last = record->ts;
		for (size_t i = 0; i < kind->field_count; i++)
			(void)schema_field_value(&kind->fields[i], record, 0);
		if (record->kind == KIND_call) {
			size_t probes;

			capture_facts(reader, KIND_probe, &probes);
			CHECK(((const struct record_call *)record)->probe <= probes);
		}
		count++;
	}
	CHECK_OK(result, err);
	capture_cursor_free(cursor);
	return count;
}

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

/* One byte wrong: it is refused, or every event that is missing is in the ledger. */
TEST(a_flipped_byte_is_noticed)
{
	int fd _cleanup_close_ = small_capture();
	u64 size = file_size(fd);

	for (u64 offset = 0; offset < size; offset++) {
		struct capture_reader *reader = NULL;
		struct err err = {0};
		u64 count, lost;
		char byte, flipped;

		CHECK(pread(fd, &byte, 1, offset) == 1);
		flipped = byte ^ 0x10;
		CHECK(pwrite(fd, &flipped, 1, offset) == 1);
		if (capture_reader_open(fd, &reader, &err) == 0) {
			count = count_events(reader);
			lost = capture_reader_loss(reader, VALUE_loss_reason_block_damaged) +
			       capture_reader_loss(reader, VALUE_loss_reason_kind_unknown);
			if (count < 12)
				CHECK(lost >= 12 - count);
			else
				CHECK(lost || capture_reader_cut(reader));
			capture_reader_free(reader);
		} else {
			CHECK(offset < sizeof(struct capture_file_header));
		}
		CHECK(pwrite(fd, &byte, 1, offset) == 1);
	}
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

/* ---- files that are not what they seem ---- */

static int open_error(const void *data, size_t size, struct err *err)
{
	int fd _cleanup_close_ = memory_file();
	struct capture_reader *reader = NULL;
	int result;

	CHECK(write(fd, data, size) == (ssize_t)size);
	result = capture_reader_open(fd, &reader, err);
	capture_reader_free(reader);
	return result;
}

TEST(what_is_no_capture_is_said)
{
	struct capture_file_header header = {.magic = "GPUPROB", .version = 7};
	struct err err = {0};

	CHECK(open_error("", 0, &err) == -EINVAL);
	CHECK_STRING(err.message, "it is no capture: it is empty");
	CHECK(open_error("GPU", 3, &err) == -EINVAL);
	CHECK_STRING(err.message, "it is no capture of gpuprobe (.gpr)");
	CHECK(open_error("SQLite format 3 and so on, long enough", 38, &err) == -EINVAL);
	CHECK_STRING(err.message, "it is no capture of gpuprobe (.gpr)");
	memcpy(header.magic, CAPTURE_MAGIC, 8);
	CHECK(open_error(&header, sizeof(header), &err) == -EINVAL);
	CHECK_STRING(err.message, "it is a capture in version 7 of the format; this gpuprobe reads "
				  "version 1");
	header.version = 1;
	CHECK(open_error(&header, sizeof(header), &err) == -EINVAL);
	CHECK_STRING(err.message, "it is a capture with a damaged header");
}

static void write_block(int fd, u32 type, const void *payload, u32 size, u32 count)
{
	struct capture_block_header header = {
		.magic = CAPTURE_BLOCK_MAGIC,
		.offset = file_size(fd),
		.type = type,
		.payload_bytes = size,
		.record_count = count,
		.payload_crc = capture_crc(payload, size),
	};

	header.header_crc = capture_crc(&header, offsetof(struct capture_block_header, header_crc));
	lseek(fd, 0, SEEK_END);
	CHECK(write(fd, &header, sizeof(header)) == sizeof(header));
	CHECK(write(fd, payload, size) == size);
}

/* The file's header and its kinds: blocks are written by the test itself. */
static int capture_without_blocks(void)
{
	struct capture_writer *writer = NULL;
	int fd = memory_file();
	struct err err = {0};

	CHECK_OK(capture_writer_create(fd, &writer, &err), err);
	capture_writer_free(writer);
	return fd;
}

/* Sound checksums, bad contents: nothing but the damaged records is lost. */
TEST(bad_records_in_good_blocks)
{
	struct record_call calls[4] = {0};
	struct capture_reader *reader = NULL;
	int fd _cleanup_close_ = capture_without_blocks();
	struct err err = {0};

	for (unsigned i = 0; i < 4; i++)
		calls[i].header = (struct record_header){.size_bytes = sizeof(calls[i]),
							 .kind = KIND_call,
							 .source = 2,
							 .ts = 100 + i};
	/* Out of order. */
	calls[1].header.ts = 50;
	/* An enum value that does not exist reads as absent. */
	calls[2].ended = 200;
	write_block(fd, CAPTURE_BLOCK_EVENTS, calls, sizeof(calls), 4);
	/* A fact among events. */
	calls[1].header.ts = 101;
	calls[1].header.kind = KIND_clock;
	write_block(fd, CAPTURE_BLOCK_EVENTS, calls, sizeof(calls), 4);
	/* A kind that nobody described. */
	calls[1].header.kind = 999;
	write_block(fd, CAPTURE_BLOCK_EVENTS, calls, sizeof(calls), 4);
	/* A size that leads nowhere: what follows is lost too. */
	calls[1].header.size_bytes = 12;
	write_block(fd, CAPTURE_BLOCK_EVENTS, calls, sizeof(calls), 4);
	/* A size that is not that of its kind. */
	calls[1].header.kind = KIND_call;
	calls[1].header.size_bytes = 2 * sizeof(calls[0]);
	write_block(fd, CAPTURE_BLOCK_EVENTS, calls, sizeof(calls), 3);
	/* A block of a type that we do not know is passed over. */
	write_block(fd, 77, calls, sizeof(calls), 3);
	CHECK_OK(capture_reader_open(fd, &reader, &err), err);
	CHECK_U64(count_events(reader), 3 + 3 + 3 + 1 + 2);
	CHECK_U64(capture_reader_loss(reader, VALUE_loss_reason_record_damaged), 1 + 1 + 3 + 1);
	CHECK_U64(capture_reader_loss(reader, VALUE_loss_reason_kind_unknown), 1);
	capture_reader_free(reader);
}

TEST(bad_facts_in_good_blocks)
{
	struct {
		struct record_text text;
		char tail[8];
	} texts[3] = {0};
	struct capture_reader *reader = NULL;
	int fd _cleanup_close_ = capture_without_blocks();
	struct err err = {0};
	size_t count;

	for (unsigned i = 0; i < 3; i++) {
		texts[i].text.header = (struct record_header){
			.size_bytes = sizeof(texts[i]), .kind = KIND_text, .source = 2};
		texts[i].text.id = i; /* 0 is no id */
		texts[i].text.length_bytes = 8;
		memcpy(texts[i].tail, "12345678", 8);
	}
	texts[2].text.length_bytes = 9; /* longer than the record */
	write_block(fd, CAPTURE_BLOCK_FACTS, texts, sizeof(texts), 3);
	CHECK_OK(capture_reader_open(fd, &reader, &err), err);
	capture_facts(reader, KIND_text, &count);
	CHECK_U64(count, 1);
	CHECK_STRING(capture_text(reader, 1), "12345678");
	CHECK_U64(capture_reader_loss(reader, VALUE_loss_reason_record_damaged), 2);
	capture_reader_free(reader);
}

TEST(a_stack_with_fewer_addresses_than_it_says_is_refused)
{
	struct {
		struct record_stack stack;
		u64 addresses[2];
	} stacks[2] = {0};
	struct capture_reader *reader = NULL;
	int fd _cleanup_close_ = capture_without_blocks();
	const u64 *addresses;
	struct err err = {0};

	for (unsigned i = 0; i < 2; i++) {
		stacks[i].stack.header = (struct record_header){
			.size_bytes = sizeof(stacks[i]), .kind = KIND_stack, .source = 2};
		stacks[i].stack.id = i + 1;
		stacks[i].stack.depth = 2 + i;
		stacks[i].addresses[0] = 7;
		stacks[i].addresses[1] = 8;
	}
	write_block(fd, CAPTURE_BLOCK_FACTS, stacks, sizeof(stacks), 2);
	CHECK_OK(capture_reader_open(fd, &reader, &err), err);
	CHECK_U64(capture_stack(reader, 1, &addresses), 2);
	CHECK(addresses[0] == 7 && addresses[1] == 8);
	CHECK_U64(capture_stack(reader, 2, &addresses), 0);
	CHECK_U64(capture_reader_loss(reader, VALUE_loss_reason_record_damaged), 1);
	capture_reader_free(reader);
}

/* The file is changed between opening and reading. */
TEST(a_file_that_changes_is_checked_again)
{
	for (unsigned round = 0; round < 300; round++) {
		int fd _cleanup_close_ = small_capture();
		struct capture_reader *reader = NULL;
		u64 size = file_size(fd);
		struct err err = {0};

		CHECK_OK(capture_reader_open(fd, &reader, &err), err);
		if (round % 3 == 0) {
			CHECK(ftruncate(fd, random_below(size)) == 0);
		} else {
			for (unsigned i = 0; i < 40; i++) {
				char byte = random_below(256);

				CHECK(pwrite(fd, &byte, 1, random_below(size)) == 1);
			}
		}
		CHECK(count_events(reader) <= 12);
		capture_reader_free(reader);
	}
}

UNIT_MAIN()
