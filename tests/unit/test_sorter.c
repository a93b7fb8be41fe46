/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <errno.h>
#include <sys/resource.h>
#include <signal.h>

#include "base/sorter.h"

static u64 next_random(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Adds count pairs of which every (group, value) is known by sum; checks order, number and sum. */
static void check_sorted(size_t memory_bytes, size_t count, u64 groups)
{
	u64 state = 88172645463325252ULL, sum = 0, sum_back = 0;
	struct sorter_pair pair, last = {};
	struct sorter *sorter = NULL;
	struct err err = {};
	size_t got = 0;
	int result;

	CHECK_OK(sorter_create(memory_bytes, &sorter, &err), err);
	for (size_t i = 0; i < count; i++) {
		u64 group = next_random(&state) % groups, value = next_random(&state);

		sum += group * 31 + value;
		CHECK_OK(sorter_add(sorter, group, value, &err), err);
	}
	CHECK_OK(sorter_finish(sorter, &err), err);
	while ((result = sorter_next(sorter, &pair, &err)) == 1) {
		CHECK(pair.group > last.group ||
		      (pair.group == last.group && pair.value >= last.value));
		sum_back += pair.group * 31 + pair.value;
		last = pair;
		got++;
	}
	CHECK_OK(result, err);
	CHECK(sorter_next(sorter, &pair, &err) == 0);
	CHECK_U64(got, count);
	CHECK_U64(sum_back, sum);
	CHECK(sorter_free(sorter) == NULL);
}

TEST(nothing_to_sort)
{
	check_sorted(1 << 20, 0, 1);
	check_sorted(0, 0, 1);
	CHECK(sorter_free(NULL) == NULL);
}

TEST(in_memory)
{
	check_sorted(1 << 20, 1, 1);
	check_sorted(1 << 20, 30000, 17);
}

TEST(spilled_to_few_runs)
{
	check_sorted(1 << 20, 300000, 17);
}

/* More runs than the memory has windows for. */
TEST(spilled_to_many_runs)
{
	check_sorted(0, 256 * 300 + 1, 1000);
}

TEST(count_around_the_chunk)
{
	for (size_t count = 255; count <= 258; count++)
		check_sorted(0, count, 3);
	for (size_t count = 511; count <= 514; count++)
		check_sorted(0, count, 3);
}

TEST(equal_pairs_all_come_back)
{
	struct sorter *sorter = NULL;
	struct sorter_pair pair;
	struct err err = {};
	size_t got = 0;

	CHECK_OK(sorter_create(0, &sorter, &err), err);
	for (int i = 0; i < 1000; i++)
		CHECK_OK(sorter_add(sorter, 7, 7, &err), err);
	CHECK_OK(sorter_finish(sorter, &err), err);
	while (sorter_next(sorter, &pair, &err) == 1)
		got += pair.group == 7 && pair.value == 7;
	CHECK_U64(got, 1000);
	sorter_free(sorter);
}

TEST(bad_tmpdir_falls_back)
{
	setenv("TMPDIR", "/no/such/folder", 1);
	check_sorted(0, 1000, 3);
	unsetenv("TMPDIR");
}

TEST(full_disk_is_an_error)
{
	struct rlimit old, small;
	struct sorter *sorter = NULL;
	struct err err = {};
	int result = 0;

	/* A limit on the size of files stands for the full disk. */
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = 64 * 1024;
	setrlimit(RLIMIT_FSIZE, &small);
	CHECK_OK(sorter_create(0, &sorter, &err), err);
	for (int i = 0; i < 100000 && result == 0; i++)
		result = sorter_add(sorter, 1, (u64)i, &err);
	setrlimit(RLIMIT_FSIZE, &old);
	signal(SIGXFSZ, SIG_DFL);
	CHECK(result == -EFBIG);
	CHECK(strstr(err.message, "temporary file") != NULL);
	sorter_free(sorter);
}

UNIT_MAIN()
