/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/spool.h"
#include "base/text.h"

#define SPOOLS 5

static int keep(void *text, const void *bytes, size_t size_bytes)
{
	text_append_bytes(text, bytes, size_bytes);
	return 0;
}

static int append(struct spool *spool, struct spool_store *store, const void *bytes,
		  size_t size_bytes, struct err *err)
{
	u8 *room;
	int result = spool_reserve(spool, store, size_bytes, &room, err);

	if (result == 0 && size_bytes)
		memcpy(room, bytes, size_bytes);
	return result;
}

static int refuse(void *count, const void *bytes, size_t size_bytes)
{
	++*(int *)count;
	return -ENOSPC;
}

/* Pieces of all lengths, round robin, so that the file has the chunks of all of them in turns. */
static void fill_and_compare(size_t pieces, bool expect_file)
{
	struct spool_store store = SPOOL_STORE_INIT;
	struct spool spools[SPOOLS] = {};
	struct text expected[SPOOLS] = {}, got = {};
	struct err err = {};
	char piece[3000];

	for (size_t i = 0; i < pieces; i++) {
		size_t which = i % SPOOLS, size = i * 7 % sizeof(piece);

		memset(piece, 'a' + i % 26, sizeof(piece));
		CHECK_OK(append(&spools[which], &store, piece, size, &err), err);
		text_append_bytes(&expected[which], piece, size);
	}
	CHECK_U64(store.fd >= 0, expect_file);
	for (size_t i = 0; i < SPOOLS; i++) {
		text_clear(&got);
		CHECK_OK(spool_read(&spools[i], &store, keep, &got, &err), err);
		CHECK_U64(spools[i].size_bytes, expected[i].length);
		CHECK_U64(got.length, expected[i].length);
		CHECK(!memcmp(text_string(&got), text_string(&expected[i]), got.length));
		text_free(&expected[i]);
		spool_free(&spools[i]);
	}
	text_free(&got);
	spool_store_close(&store);
}

TEST(little_stays_in_memory)
{
	fill_and_compare(20, false);
}

TEST(much_goes_to_one_file_and_comes_back_in_order)
{
	fill_and_compare(2000, true);
}

TEST(a_piece_larger_than_a_chunk)
{
	struct spool_store store = SPOOL_STORE_INIT;
	struct text got _cleanup_text_ = {0};
	size_t size = 200000;
	struct spool spool = {};
	struct err err = {};
	u8 *room;

	CHECK_OK(append(&spool, &store, "before", 6, &err), err);
	CHECK_OK(spool_reserve(&spool, &store, size, &room, &err), err);
	memset(room, 'x', size);
	CHECK_OK(append(&spool, &store, "behind", 6, &err), err);
	CHECK_OK(spool_read(&spool, &store, keep, &got, &err), err);
	CHECK_U64(got.length, size + 12);
	CHECK(!memcmp(got.data, "beforex", 7));
	CHECK(!memcmp(got.data + got.length - 7, "xbehind", 7));
	spool_free(&spool);
	spool_store_close(&store);
}

TEST(who_reads_may_stop)
{
	struct spool_store store = SPOOL_STORE_INIT;
	struct spool spool = {};
	struct err err = {};
	int count = 0;

	for (int i = 0; i < 100; i++)
		CHECK_OK(append(&spool, &store, "0123456789abcdef", 16, &err), err);
	CHECK(spool_read(&spool, &store, refuse, &count, &err) == -ENOSPC);
	CHECK_U64(count, 1);
	spool_free(&spool);
	spool_store_close(&store);
}

/* Two in turns, so that neither has one extent alone; a size that no power of two is a multiple of. */
static void fill_and_take(u64 pieces)
{
	struct spool_store store = SPOOL_STORE_INIT;
	struct spool spools[2] = {};
	struct err err = {};
	u64 piece[7] = {};

	for (u64 i = 0; i < pieces; i++) {
		piece[0] = i;
		piece[6] = ~i;
		CHECK_OK(append(&spools[i / 3 % 2], &store, piece, sizeof(piece), &err), err);
	}
	for (u64 which = 0; which < 2; which++) {
		struct spool_reader reader = {.spool = &spools[which], .store = &store};
		const void *bytes;

		for (u64 i = 0; i < pieces; i++) {
			if (i / 3 % 2 != which)
				continue;
			CHECK(spool_next(&reader, sizeof(piece), &bytes, &err) == 1);
			memcpy(piece, bytes, sizeof(piece));
			CHECK_U64(piece[0], i);
			CHECK_U64(piece[6], ~i);
		}
		CHECK(spool_next(&reader, sizeof(piece), &bytes, &err) == 0);
		CHECK(spool_next(&reader, sizeof(piece), &bytes, &err) == 0);
		spool_reader_free(&reader);
		spool_free(&spools[which]);
	}
	spool_store_close(&store);
}

TEST(pieces_of_one_size_are_given_one_at_a_time)
{
	fill_and_take(0);
	fill_and_take(7);
	fill_and_take(30000);
}

/* Sizes that come to no whole number of pieces in what is read at a time. */
TEST(pieces_of_several_sizes_are_given_as_they_were_appended)
{
	struct spool_store store = SPOOL_STORE_INIT;
	struct spool spool = {};
	struct spool_reader reader = {.spool = &spool, .store = &store};
	struct err err = {};
	u64 piece[9] = {};
	const void *bytes;

	for (u64 i = 0; i < 30000; i++) {
		size_t count = 1 + i * i % 9;

		piece[0] = piece[count - 1] = i;
		CHECK_OK(append(&spool, &store, piece, count * sizeof(*piece), &err), err);
	}
	for (u64 i = 0; i < 30000; i++) {
		size_t count = 1 + i * i % 9;

		CHECK(spool_next(&reader, count * sizeof(*piece), &bytes, &err) == 1);
		memcpy(piece, bytes, count * sizeof(*piece));
		CHECK_U64(piece[0], i);
		CHECK_U64(piece[count - 1], i);
	}
	CHECK(spool_next(&reader, 8, &bytes, &err) == 0);
	spool_reader_free(&reader);
	spool_free(&spool);
	spool_store_close(&store);
}

/* The file is gone: what is left of it can't be read. */
TEST(what_can_not_be_read_is_said)
{
	struct spool_store store = SPOOL_STORE_INIT, closed = SPOOL_STORE_INIT;
	struct spool spool = {};
	struct spool_reader reader = {.spool = &spool, .store = &closed};
	struct err err = {};
	const void *bytes;

	for (int i = 0; i < 10000; i++)
		CHECK_OK(append(&spool, &store, "0123456789abcdef", 16, &err), err);
	CHECK(spool_next(&reader, 16, &bytes, &err) < 0);
	CHECK(strstr(err.message, "temporary file"));
	spool_reader_free(&reader);
	spool_free(&spool);
	spool_store_close(&store);
}

/* ---- no room in a file ---- */

/* While files may be no larger: returns the limit that was. */
static rlim_t limit_files(rlim_t bytes)
{
	struct rlimit limit;
	rlim_t before;

	signal(SIGXFSZ, SIG_IGN);
	CHECK(!getrlimit(RLIMIT_FSIZE, &limit));
	before = limit.rlim_cur;
	limit.rlim_cur = bytes;
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
	return before;
}

#define PIECES 30000 /* of 9 words at most: 1.2 MB */

/* Some of it is in the file, the rest in memory, in both places chunks of two spools in turns. */
static void fill_beyond(rlim_t file_bytes)
{
	struct spool_store store = SPOOL_STORE_INIT_SPARED;
	struct spool spools[2] = {};
	struct text whole[2] = {}, got = {};
	struct err err = {};
	rlim_t before = limit_files(file_bytes);

	for (u64 i = 0; i < PIECES; i++) {
		u64 piece[9] = {i, 0, 0, 0, 0, 0, 0, 0, ~i};
		size_t bytes = (1 + i * i % 9) * sizeof(*piece);

		CHECK_OK(append(&spools[i / 5 % 2], &store, piece, bytes, &err), err);
		text_append_bytes(&whole[i / 5 % 2], (const char *)piece, bytes);
	}
	limit_files(before);
	CHECK(store.size_bytes <= file_bytes && !store.size_bytes == (file_bytes < 65536));
	CHECK(store.spare_bytes < SPOOL_SPARE_BYTES);
	for (u64 which = 0; which < 2; which++) {
		struct spool_reader reader = {.spool = &spools[which], .store = &store};
		const void *bytes;

		text_clear(&got);
		CHECK_OK(spool_read(&spools[which], &store, keep, &got, &err), err);
		CHECK(got.length == whole[which].length &&
		      !memcmp(got.data, whole[which].data, got.length));
		for (u64 i = 0, at = 0; i < PIECES; i++) {
			size_t size = (1 + i * i % 9) * sizeof(u64);

			if (i / 5 % 2 != which)
				continue;
			CHECK(spool_next(&reader, size, &bytes, &err) == 1);
			CHECK(!memcmp(bytes, whole[which].data + at, size));
			at += size;
		}
		CHECK(spool_next(&reader, 8, &bytes, &err) == 0);
		spool_reader_free(&reader);
		spool_free(&spools[which]);
		text_free(&whole[which]);
	}
	text_free(&got);
	spool_store_close(&store);
}

TEST(what_a_file_has_no_room_for_is_in_memory)
{
	fill_beyond(0);
	fill_beyond(100000);
	fill_beyond(500000);
}

TEST(memory_that_is_spared_has_an_end)
{
	struct spool_store store = {.fd = -1, .spare_bytes = 200000};
	struct spool spool = {};
	struct err err = {};
	rlim_t before = limit_files(0);
	int result = 0;
	u64 count = 0;

	while (result == 0 && count < 1000)
		if (!(result = append(&spool, &store, (char[1024]){0}, 1024, &err)))
			count++;
	limit_files(before);
	CHECK(result == -ENOSPC);
	CHECK(strstr(err.message, "Set TMPDIR"));
	/* Three chunks that are full, and the one that is not spilled. */
	CHECK_U64(count, 4 * 64);
	spool_free(&spool);
	spool_store_close(&store);
}

TEST(who_spares_none_has_the_error_of_the_file)
{
	struct spool_store store = SPOOL_STORE_INIT;
	struct spool spool = {};
	struct err err = {};
	rlim_t before = limit_files(0);
	int result = 0;

	for (int i = 0; i < 1000 && result == 0; i++)
		result = append(&spool, &store, (char[1024]){0}, 1024, &err);
	limit_files(before);
	CHECK(result == -EFBIG);
	CHECK(strstr(err.message, "can't write a temporary file"));
	spool_free(&spool);
	spool_store_close(&store);
}

UNIT_MAIN()
