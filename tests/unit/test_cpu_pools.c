/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include "reports/cpu_pools.h"

#define MS	1000000ULL
#define PERIOD	(10 * MS)
#define STACKS	4
#define SILENT	98 /* threads without a sample */
#define AT_ONCE 2  /* threads with one */

struct shares {
	u64 ns[STACKS], without_stack, all;
};

static int add_share(void *data, size_t stack, u64 ns)
{
	struct shares *shares = data;

	shares->all += ns;
	if (stack == CPU_POOL_NO_STACK)
		shares->without_stack += ns;
	else
		shares->ns[stack] += ns;
	return 0;
}

static void add_thread(struct cpu_pools *pools, u32 pid, u32 tid, u64 run_ns, bool silent)
{
	const struct record_thread_time time = {
		.header = {.kind = KIND_thread_time, .pid = pid, .tid = tid},
		.run_ns = run_ns,
		.sampled_ns = ~0ULL};
	const struct view_event event = {.record = &time.header};

	CHECK(!cpu_pools_add_thread(pools, &event, silent ? run_ns : 0));
}

static int add_sample(struct cpu_pools *pools, u32 pid, u32 tid, size_t stack, u64 weight_ns)
{
	const struct record_sample sample = {
		.header = {.kind = KIND_sample, .pid = pid, .tid = tid}, .period_ns = PERIOD};
	const struct view_event event = {.record = &sample.header, .weight_ns = weight_ns};

	return cpu_pools_add_sample(pools, &event, stack);
}

/* A server that makes a thread for each request: two of a hundred have a sample. */
TEST(short_threads_share_their_samples)
{
	struct cpu_pools pools = {0};
	struct shares shares = {0};
	u32 tid = 100;

	for (int i = 0; i < SILENT; i++)
		add_thread(&pools, 1, tid++, MS, true);
	for (size_t i = 0; i < AT_ONCE; i++) {
		add_thread(&pools, 1, tid, MS, false);
		CHECK_U64(add_sample(&pools, 1, tid++, i, MS), 1);
	}
	CHECK(!cpu_pools_share(&pools, add_share, &shares));
	CHECK_U64(shares.ns[0], 50 * MS);
	CHECK_U64(shares.ns[1], 50 * MS);
	CHECK_U64(shares.without_stack, 0);
	cpu_pools_free(&pools);
}

TEST(nothing_is_lost_by_sharing)
{
	struct cpu_pools pools = {0};
	struct shares shares = {0};

	for (u32 tid = 10; tid < 13; tid++) {
		add_thread(&pools, 1, tid, 7, false);
		CHECK_U64(add_sample(&pools, 1, tid, tid - 10, 7), 1);
	}
	add_thread(&pools, 1, 20, 2, true);
	CHECK(!cpu_pools_share(&pools, add_share, &shares));
	CHECK_U64(shares.all, 23);
	cpu_pools_free(&pools);
}

TEST(others_are_left_alone)
{
	struct cpu_pools pools = {0};
	struct shares shares = {0};

	/* As long as five looks take: it has samples of its own, or none for another reason. */
	add_thread(&pools, 1, 10, CPU_POOL_SAMPLES * PERIOD, false);
	CHECK_U64(add_sample(&pools, 1, 10, 0, PERIOD), 0);
	add_thread(&pools, 1, 11, CPU_POOL_SAMPLES * PERIOD, true);
	/* Of another process nothing is known by these samples. */
	add_thread(&pools, 2, 20, MS, true);
	add_thread(&pools, 1, 12, MS, false);
	CHECK_U64(add_sample(&pools, 1, 12, 1, MS), 1);
	/* Whose time is not known stands for itself. */
	CHECK_U64(add_sample(&pools, 1, 13, 2, PERIOD), 0);
	CHECK(!cpu_pools_share(&pools, add_share, &shares));
	CHECK_U64(shares.ns[1], MS);
	CHECK_U64(shares.without_stack, CPU_POOL_SAMPLES * PERIOD + MS);
	cpu_pools_free(&pools);
}

UNIT_MAIN()
