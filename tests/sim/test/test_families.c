/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The two families of CUPTI's functions shut each other out, as the agent believes of the real library (gpu/cupti/cupti_family.h): from
 * 13.3 on the first that is called, in 13.2 a subscriber who shares. test_families LIBCUPTI, a line each as of test_cupti.
 */
#include <stdio.h>
#include <stdlib.h>
#include <cuda.h>
#include "client.h"
#include "load.h"

#define VERSION_NEW   130200 /* of cuptiGetVersion: the new functions are there */
#define VERSION_FIRST 130300 /* the first family that is called has it */

/* Newer than the headers of the build. */
typedef CUptiResult enable_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
			      void *config);
typedef CUptiResult get_attribute_v2(CUpti_SubscriberHandle subscriber, unsigned attribute,
				     size_t *size, void *value);
#define SHARING_STATE 12

static const char *library;

static void on_callback(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			const void *info)
{
}

static CUptiResult subscribe_sharing(CUpti_SubscriberHandle *ret_subscriber)
{
	struct {
		size_t size;
		const char *name;
		char *holder;
		size_t holder_size;
		uint8_t allow_multiple;
	} params = {.size = sizeof(params), .name = "test", .allow_multiple = 1};

	return CALL(cuptiSubscribe_v2, ret_subscriber, on_callback, NULL,
		    (CUpti_SubscriberParams *)&params);
}

static CUptiResult enable_new(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind)
{
	return ((enable_v2 *)client_find("cuptiActivityEnable_v2"))(subscriber, kind, NULL);
}

static CUptiResult ask_new(void)
{
	uint8_t state;
	size_t size = sizeof(state);

	return ((get_attribute_v2 *)client_find("cuptiActivityGetAttribute_v2"))(
		NULL, SHARING_STATE, &size, &state);
}

/* A process with a context, and the library in it. False: the release has one family only. */
static bool has_both(void)
{
	struct load load;

	prepare(&load);
	EXPECT(client_open(library));
	EXPECT_EQUAL(CALL(cuptiGetVersion, &client.version), 0);
	EXPECT_EQUAL(client_find("cuptiActivityEnable_v2") != NULL, client.version >= VERSION_NEW);
	return client_find("cuptiActivityEnable_v2") != NULL;
}

static void test_old_first(void)
{
	bool first_has_it;
	CUpti_SubscriberHandle subscriber;

	if (!has_both())
		return;
	first_has_it = client.version >= VERSION_FIRST;
	EXPECT_EQUAL(CALL(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
	EXPECT_EQUAL(ask_new(), first_has_it ? CUPTI_ERROR_NOT_COMPATIBLE : 0);
	EXPECT_EQUAL(subscribe_sharing(&subscriber), 0);
	EXPECT_EQUAL(enable_new(subscriber, CUPTI_ACTIVITY_KIND_MEMCPY),
		     first_has_it ? CUPTI_ERROR_NOT_COMPATIBLE : 0);
	/* In 13.2 it is who shares that counts, however late. */
	EXPECT_EQUAL(CALL(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_MEMSET),
		     first_has_it ? 0 : CUPTI_ERROR_NOT_COMPATIBLE);
	/* Whose functions of old were called stays, so that the new ones do not come back. */
	EXPECT_EQUAL(CALL(cuptiUnsubscribe, subscriber), 0);
	EXPECT_EQUAL(ask_new(), first_has_it ? CUPTI_ERROR_NOT_COMPATIBLE : 0);
}

static void test_new_first(void)
{
	static const unsigned kernels[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0};
	CUpti_SubscriberHandle subscriber;
	struct load load;
	size_t dropped;

	if (!has_both())
		return;
	EXPECT_EQUAL(subscribe_sharing(&subscriber), 0);
	EXPECT_EQUAL(enable_new(subscriber, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
	EXPECT_EQUAL(CALL(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_MEMCPY),
		     CUPTI_ERROR_NOT_COMPATIBLE);
	EXPECT_EQUAL(CALL(cuptiActivityDisable, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL),
		     CUPTI_ERROR_NOT_COMPATIBLE);
	EXPECT_EQUAL(CALL(cuptiActivityFlushPeriod, 100), CUPTI_ERROR_NOT_COMPATIBLE);
	if (client.version >= VERSION_FIRST)
		EXPECT_EQUAL(CALL(cuptiActivityGetNumDroppedRecords, NULL, 0, &dropped),
			     CUPTI_ERROR_NOT_COMPATIBLE);
	EXPECT_EQUAL(enable_new(subscriber, CUPTI_ACTIVITY_KIND_MEMSET), 0);
	/* With the last subscriber the functions of old are back; what was refused has switched nothing on. */
	EXPECT_EQUAL(CALL(cuptiUnsubscribe, subscriber), 0);
	EXPECT_EQUAL(client_start(kernels), 0);
	prepare(&load);
	work(&load);
	EXPECT_EQUAL(CALL(cuptiActivityFlushAll, 0), 0);
	EXPECT_EQUAL(client.counts[CUPTI_ACTIVITY_KIND_MEMCPY], 0);
	EXPECT_EQUAL(client.counts[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL],
		     LAUNCHES + GRAPHS * GRAPH_KERNELS);
}

/* A driver of 13.0 serves one subscriber: nobody shares, and in 13.2 no family is shut out. */
static void test_old_driver(void)
{
	CUpti_SubscriberHandle subscriber;

	if (!has_both())
		return;
	EXPECT_EQUAL(subscribe_sharing(&subscriber),
		     CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	EXPECT_EQUAL(CALL(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
	EXPECT_EQUAL(ask_new(), client.version >= VERSION_FIRST ? CUPTI_ERROR_NOT_COMPATIBLE : 0);
}

static const struct test_case cases[] = {
	{"old_first", test_old_first, "SIM_DRIVER_VERSION", "13090"},
	{"new_first", test_new_first, "SIM_DRIVER_VERSION", "13090"},
	{"old_driver", test_old_driver, "SIM_DRIVER_VERSION", "13000"},
};

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: test_families LIBCUPTI\n");
		return 2;
	}
	library = argv[1];
	return run_cases(cases, sizeof(cases) / sizeof(cases[0]));
}
