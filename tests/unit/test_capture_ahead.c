/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "capture_build.h"
#include "store/capture_ahead.h"

#define CALLS_OF_BATCH 1000
#define BATCHES	       30 /* several times what is read ahead */

/* Blocks that overlap in time. */
static struct capture_reader *write_calls(int fd)
{
	struct capture_writer *writer = NULL;
	struct capture_reader *reader = NULL;
	struct err err = {0};

	CHECK_OK(capture_writer_create(fd, &writer, &err), err);
	for (u64 i = 0; i < BATCHES; i++) {
		struct batch *batch = NULL;

		CHECK(batch_create(&batch) == 0);
		for (u64 n = 0; n < CALLS_OF_BATCH; n++)
			add_call(batch, (i / 2 * CALLS_OF_BATCH + n) * 10 + i % 2, n % 7, 1 + n % 3,
				 1 + n % 5);
		CHECK_OK(capture_writer_append(writer, batch, &err), err);
		batch_free(batch);
	}
	CHECK_OK(capture_writer_finish(writer, &err), err);
	CHECK_OK(capture_reader_open(fd, &reader, &err), err);
	capture_writer_free(writer);
	return reader;
}

/* Both give the same; at the end ahead says so twice. */
static void check_same(struct capture_reader *reader, u64 bytes_min)
{
	const struct record_header *expected, *record;
	struct capture_cursor *cursor = NULL;
	struct capture_ahead *ahead = NULL;
	struct err err = {0};
	u64 count = 0;

	CHECK_OK(capture_cursor_open(reader, &cursor, &err), err);
	CHECK_OK(capture_ahead_open(reader, bytes_min, &ahead, &err), err);
	while (capture_cursor_next(cursor, &expected, &err) > 0) {
		CHECK_U64(capture_ahead_next(ahead, &record, &err), 1);
		CHECK_U64((uintptr_t)record % 8, 0);
		CHECK_U64(record->size_bytes, expected->size_bytes);
		CHECK(memcmp(record, expected, expected->size_bytes) == 0);
		count++;
	}
	CHECK_U64(count, CALLS_OF_BATCH * BATCHES);
	CHECK_U64(capture_ahead_next(ahead, &record, &err), 0);
	CHECK_U64(capture_ahead_next(ahead, &record, &err), 0);
	capture_ahead_free(ahead);
	capture_cursor_free(cursor);
}

TEST(a_thread_gives_what_a_cursor_gives)
{
	int fd _cleanup_close_ = memory_file();
	struct capture_reader *reader = write_calls(fd);

	check_same(reader, 0);
	check_same(reader, ~0ULL); /* without a thread */
	capture_reader_free(reader);
}

TEST(it_may_end_at_any_time)
{
	int fd _cleanup_close_ = memory_file();
	struct capture_reader *reader = write_calls(fd);

	for (unsigned given = 0; given < 6000; given = given * 3 + 1) {
		const struct record_header *record;
		struct capture_ahead *ahead = NULL;
		struct err err = {0};

		CHECK_OK(capture_ahead_open(reader, 0, &ahead, &err), err);
		for (unsigned i = 0; i < given; i++)
			CHECK_U64(capture_ahead_next(ahead, &record, &err), 1);
		CHECK(capture_ahead_free(ahead) == NULL);
	}
	CHECK(capture_ahead_free(NULL) == NULL);
	capture_reader_free(reader);
}

TEST(an_error_comes_with_its_reason_and_stays)
{
	int fd = memory_file();
	struct capture_reader *reader = write_calls(fd);
	const struct record_header *record;
	struct capture_ahead *ahead = NULL;
	struct err err = {0};

	close(fd);
	CHECK_OK(capture_ahead_open(reader, 0, &ahead, &err), err);
	CHECK(capture_ahead_next(ahead, &record, &err) == -EBADF);
	CHECK_U64(-err.code, EBADF);
	CHECK(strstr(err.message, "can't read the capture"));
	CHECK(capture_ahead_next(ahead, &record, NULL) == -EBADF);
	capture_ahead_free(ahead);
	capture_reader_free(reader);
}

TEST(a_file_that_was_cut_ends_early)
{
	int fd _cleanup_close_ = memory_file();
	struct capture_reader *reader = write_calls(fd);
	const struct record_header *record;
	struct capture_ahead *ahead = NULL;
	struct err err = {0};
	u64 count = 0;

	CHECK(ftruncate(fd, file_size(fd) / 2) == 0);
	CHECK_OK(capture_ahead_open(reader, 0, &ahead, &err), err);
	while (capture_ahead_next(ahead, &record, &err) > 0)
		count++;
	CHECK(count > CALLS_OF_BATCH && count < CALLS_OF_BATCH * BATCHES);
	capture_ahead_free(ahead);
	capture_reader_free(reader);
}

UNIT_MAIN()
