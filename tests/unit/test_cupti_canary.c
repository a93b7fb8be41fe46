/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When the agent holds CUPTI for lost, and when it must not. */
#include "unit.h"

#include "../gpu/cupti_price.h"
#include "../gpu/cupti_session.h"
#include "cupti_fixture.h"

#define GET_VERSION   2	  /* CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion */
#define LAUNCH_KERNEL 307 /* CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel */
#define LAUNCH_GRAPH  514 /* CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch */
#define RECORD_WORDS  64

/* Of a CUPTI: is the call recorded? */
static u8 records_get_version;

static u32 enable_driver(u32 callback, u8 on)
{
	if (callback == GET_VERSION)
		records_get_version = on;
	return 0;
}

static u32 flush_all(u32 flags)
{
	return 0;
}

static u32 get_version(int *version)
{
	*version = 13000;
	return 0;
}

static struct cupti_session *session_make(struct fixture *fixture, u32 version)
{
	struct cupti_session *session = calloc(1, sizeof(*session));

	session->control = fixture->control;
	session->writer = &fixture->writer;
	session->version = version;
	session->library.driver_get_version = get_version;
	session->library.calls.ActivityEnableDriverApi = enable_driver;
	session->library.calls.ActivityFlushAll = flush_all;
	session->control->cupti_facts.kinds_enabled = 1ULL << CUPTI_KERNEL;
	return session;
}

static void see(struct cupti_session *session, u32 kind, u32 callback, u64 start)
{
	u32 record[RECORD_WORDS] = {kind, callback};

	memcpy((u8 *)record + (kind == CUPTI_KERNEL ? 16 : 8), &start, sizeof(start));
	CHECK(!cupti_canary_sees(session, record, sizeof(record)));
}

/* A kernel, and launches of one sort for ten seconds behind it, of which no kernel comes. */
static u32 lost_by_launches(u32 callback)
{
	struct fixture *fixture = fixture_make();
	struct cupti_session *session = session_make(fixture, 130000);
	u32 reason;

	see(session, CUPTI_KERNEL, 0, NS_PER_SECOND);
	for (u64 i = 1; i <= 100; i++)
		see(session, CUPTI_DRIVER, callback, NS_PER_SECOND + i * (NS_PER_SECOND / 10));
	cupti_canary_judge(session, 12 * NS_PER_SECOND);
	reason = session->control->cupti_facts.lost_reason;
	free(session);
	fixture_free(fixture);
	return reason;
}

TEST(launches_whose_kernels_are_missing)
{
	CHECK_U64(lost_by_launches(LAUNCH_KERNEL), CUPTI_LOST_KERNELS);
}

/* Recorded whole a graph has one record of its own, and one may consist of copies. */
TEST(launches_of_graphs_need_no_kernels)
{
	CHECK_U64(lost_by_launches(LAUNCH_GRAPH), CUPTI_LOST_NOTHING);
}

UNIT_MAIN()
