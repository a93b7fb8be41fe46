/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <errno.h>

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

UNIT_MAIN()
