/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Captures with wrong bytes, and files that are none: what is missing is counted, and nothing else is lost. */
#include <errno.h>

#include "small_capture.h"
#include "store/capture_format.h"

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
