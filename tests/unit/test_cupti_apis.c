/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the agent asks CUPTI for so that the wanted API calls are recorded, and that it takes all of it back. */
#include "unit.h"

#include <string.h>

#include "../gpu/cupti/cupti_apis.h"

#define DRIVER	CUPTI_DOMAIN_DRIVER
#define RUNTIME CUPTI_DOMAIN_RUNTIME
#define REFUSES 27
#define NUMBERS 8

/* Of a CUPTI: a byte a number, which the kind sets all of. Name 3 is a launch, 5 the profiler's own. */
static struct {
	u8 on[3][NUMBERS];
	u32 calls, result;
} cupti;

static u32 set_number(u32 domain, u32 callback, u8 on)
{
	cupti.calls++;
	if (callback >= NUMBERS)
		return 1;
	if (cupti.result)
		return cupti.result;
	cupti.on[domain][callback] = on;
	return 0;
}

static u32 enable_driver(u32 callback, u8 on)
{
	return set_number(DRIVER, callback, on);
}

static u32 enable_runtime(u32 callback, u8 on)
{
	return set_number(RUNTIME, callback, on);
}

static u32 enable_kind(u32 kind)
{
	memset(cupti.on[kind == CUPTI_DRIVER ? DRIVER : RUNTIME], 1, NUMBERS);
	return 0;
}

static const char *name_of(void *data, u32 domain, u32 callback)
{
	if (callback >= NUMBERS)
		return NULL;
	if (callback == 3)
		return domain == DRIVER ? "cuLaunchKernel" : "cudaLaunchKernel_v7000";
	return callback == 5 && domain == DRIVER ? "cuKernelGetName" : "cuDeviceGetCount";
}

static struct cupti_session *session_make(u32 groups, bool by_number)
{
	struct cupti_session *session = calloc(1, sizeof(*session));

	memset(&cupti, 0, sizeof(cupti));
	session->control = calloc(1, sizeof(*session->control));
	session->control->cupti.api_groups = groups;
	session->convert.callback_name = name_of;
	session->library.calls.ActivityEnable = enable_kind;
	if (by_number) {
		session->library.calls.ActivityEnableDriverApi = enable_driver;
		session->library.calls.ActivityEnableRuntimeApi = enable_runtime;
	}
	return session;
}

/* As cupti_start.c does. */
static void start(struct cupti_session *session, u64 wanted)
{
	wanted &= ~cupti_apis_prepare(session, wanted);
	for (u32 kind = CUPTI_DRIVER; kind <= CUPTI_RUNTIME; kind++)
		if (wanted >> kind & 1 && !enable_kind(kind))
			session->kinds_enabled |= 1ULL << kind;
	cupti_apis_enable(session);
}

static void session_free(struct cupti_session *session)
{
	free(session->control);
	free(session);
}

static u32 count_on(u32 domain)
{
	u32 count = 0;

	for (u32 i = 0; i < NUMBERS; i++)
		count += cupti.on[domain][i];
	return count;
}

TEST(what_is_listed_is_switched_on_by_number_and_off_again)
{
	struct cupti_session *session = session_make(API_GROUPS_DEFAULT, true);

	start(session, CUPTI_API_KINDS);
	CHECK_U64(session->kinds_enabled, 0);
	CHECK_U64(session->kinds_by_number, CUPTI_API_KINDS);
	CHECK(cupti.on[DRIVER][3] && cupti.on[RUNTIME][3]);
	CHECK_U64(count_on(DRIVER) + count_on(RUNTIME), 2);
	CHECK_U64(cupti.calls, 2);
	cupti_apis_disable(session, CUPTI_API_KINDS);
	CHECK_U64(count_on(DRIVER) + count_on(RUNTIME), 0);
	CHECK_U64(session->kinds_by_number, 0);
	session_free(session);
}

TEST(one_domain_alone)
{
	struct cupti_session *session = session_make(API_GROUPS_DEFAULT, true);

	start(session, 1ULL << CUPTI_RUNTIME);
	CHECK_U64(count_on(DRIVER), 0);
	CHECK_U64(count_on(RUNTIME), 1);
	start(session, 0);
	session_free(session);
}

TEST(before_12_5_there_are_the_kinds)
{
	struct cupti_session *session = session_make(API_GROUPS_DEFAULT, false);

	start(session, CUPTI_API_KINDS);
	CHECK_U64(session->kinds_enabled, CUPTI_API_KINDS);
	CHECK_U64(session->kinds_by_number, 0);
	CHECK_U64(count_on(DRIVER) + count_on(RUNTIME), 2 * NUMBERS);
	/* The conversion leaves the rest out. */
	CHECK(api_set_has(&session->convert.apis, DRIVER, 3));
	CHECK(!api_set_has(&session->convert.apis, DRIVER, 4));
	cupti_apis_disable(session, CUPTI_API_KINDS);
	session_free(session);
}

TEST(every_call_but_those_of_profiling)
{
	struct cupti_session *session = session_make(API_GROUPS_EVERY, true);

	start(session, CUPTI_API_KINDS);
	CHECK_U64(session->kinds_enabled, CUPTI_API_KINDS);
	CHECK(cupti.on[DRIVER][4] && !cupti.on[DRIVER][5] && cupti.on[RUNTIME][5]);
	session_free(session);
}

TEST(where_no_number_is_taken_there_are_the_kinds)
{
	struct cupti_session *session = session_make(API_GROUPS_DEFAULT, true);

	cupti.result = REFUSES;
	start(session, CUPTI_API_KINDS);
	CHECK_U64(session->kinds_enabled, CUPTI_API_KINDS);
	CHECK_U64(session->kinds_by_number, 0);
	session_free(session);
}

UNIT_MAIN()
