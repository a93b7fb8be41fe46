/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When the agent holds CUPTI for lost, and when it must not. */
#include "unit.h"

#include "../gpu/cupti/cupti_apis.h"
#include "../gpu/cupti/cupti_price.h"
#include "../gpu/cupti/cupti_session.h"
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

static u32 enable_runtime(u32 callback, u8 on)
{
	return 0;
}

/* A buffer for each thread? */
static u8 thread_buffers;

static u32 get_attribute(u32 attribute, size_t *bytes, void *value)
{
	*(u8 *)value = attribute == 9 ? thread_buffers : 0;
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

static const char *name_of(void *data, u32 domain, u32 callback)
{
	return callback == GET_VERSION ? "cuDriverGetVersion" : "cuLaunchKernel";
}

static struct cupti_session *session_make(struct fixture *fixture, u32 version)
{
	struct cupti_session *session = calloc(1, sizeof(*session));

	session->control = fixture->control;
	session->writer = &fixture->writer;
	session->version = version;
	session->library.driver_get_version = get_version;
	session->library.calls.ActivityEnableDriverApi = enable_driver;
	session->library.calls.ActivityEnableRuntimeApi = enable_runtime;
	session->library.calls.ActivityFlushAll = flush_all;
	session->library.calls.ActivityGetAttribute = get_attribute;
	thread_buffers = version >= 130000;
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
	cupti_others_judge(session, 12 * NS_PER_SECOND);
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

/* Is its call recorded, of those that are recorded by number? */
static u8 recorded_behind_price(u32 version)
{
	struct fixture *fixture = fixture_make();
	struct cupti_session *session = session_make(fixture, version);
	u8 recorded;

	records_get_version = 0;
	api_calls_resolve(&session->convert.apis, API_GROUPS_DEFAULT, name_of, NULL);
	session->kinds_by_number = CUPTI_API_KINDS;
	cupti_canary_begin(session);
	cupti_price_measure(session);
	recorded = records_get_version;
	CHECK_U64(recorded, session->canary.on);
	cupti_canary_end(session);
	CHECK(!records_get_version);
	free(session);
	fixture_free(fixture);
	return recorded;
}

TEST(measuring_the_price_leaves_the_canary_recorded)
{
	CHECK_U64(recorded_behind_price(130000), 1);
}

/* A buffer that a running kernel is in is kept back, whoever else has records there. */
TEST(where_threads_share_buffers_there_is_no_canary)
{
	struct fixture *fixture = fixture_make();
	struct cupti_session *session = session_make(fixture, 130000);

	CHECK_U64(recorded_behind_price(27), 0);
	thread_buffers = 0;
	cupti_canary_begin(session);
	CHECK(!session->canary.on);
	free(session);
	fixture_free(fixture);
}

static void answer(struct cupti_session *session)
{
	u32 record[RECORD_WORDS] = {CUPTI_DRIVER, GET_VERSION};

	record[7] = session->tid;
	CHECK(cupti_canary_sees(session, record, sizeof(record)));
}

enum { ANSWERED = 1, OTHERS = 2 };

/* Ten calls of the canary that bring no record; before, or meanwhile, there were records. */
static u32 lost_by_silence(int what)
{
	struct fixture *fixture = fixture_make();
	struct cupti_session *session = session_make(fixture, 130000);
	u64 now_ns = NS_PER_SECOND;
	u32 reason;

	session->tid = 7;
	cupti_canary_begin(session);
	cupti_canary_call(session, now_ns);
	if (what & ANSWERED)
		answer(session);
	for (int i = 0; i < 10; i++) {
		now_ns += 2 * NS_PER_SECOND;
		cupti_canary_call(session, now_ns);
		if (what & OTHERS)
			see(session, CUPTI_KERNEL, 0, now_ns);
		cupti_others_judge(session, now_ns);
	}
	reason = session->control->cupti_facts.lost_reason;
	free(session);
	fixture_free(fixture);
	return reason;
}

TEST(one_that_answered_and_is_silent_is_lost)
{
	CHECK_U64(lost_by_silence(ANSWERED), CUPTI_LOST_SILENT);
}

TEST(one_that_never_answered_is_not_judged)
{
	CHECK_U64(lost_by_silence(0), CUPTI_LOST_NOTHING);
}

TEST(one_that_records_something_is_not_silent)
{
	CHECK_U64(lost_by_silence(ANSWERED | OTHERS), CUPTI_LOST_NOTHING);
}

UNIT_MAIN()
