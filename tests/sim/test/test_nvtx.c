/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A user of NVTX by its real headers, and the callbacks that a libcupti makes of its calls: test_nvtx LIBCUPTI.
 * Each case runs in a process of its own; a line "ok NAME" or "not ok NAME" each.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda.h>
#include <nvtx3/nvToolsExt.h>
#include <generated_nvtx_meta.h>
#include "client.h"
#include "load.h"

#define SEEN_MAX 32

struct seen {
	unsigned count;
	struct {
		unsigned cbid;
		char name[32], message[32];
		int value;
		pthread_t thread;
	} calls[SEEN_MAX];
};

static const char *library;

static void on_callback(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			const void *callback_data)
{
	const CUpti_NvtxData *call = callback_data;
	struct seen *seen = data;
	const char *message = "";

	EXPECT_EQUAL(domain, CUPTI_CB_DOMAIN_NVTX);
	EXPECT(seen->count < SEEN_MAX);
	if (domain != CUPTI_CB_DOMAIN_NVTX || seen->count == SEEN_MAX)
		return;
	if (cbid == CUPTI_CBID_NVTX_nvtxRangePushA)
		message = ((const nvtxRangePushA_params *)call->functionParams)->message;
	else if (cbid == CUPTI_CBID_NVTX_nvtxMarkA)
		message = ((const nvtxMarkA_params *)call->functionParams)->message;
	else if (cbid == CUPTI_CBID_NVTX_nvtxDomainMarkEx)
		message = ((const nvtxDomainMarkEx_params *)call->functionParams)
				  ->core.eventAttrib->message.ascii;
	snprintf(seen->calls[seen->count].name, sizeof(seen->calls[0].name), "%s",
		 call->functionName);
	snprintf(seen->calls[seen->count].message, sizeof(seen->calls[0].message), "%s", message);
	seen->calls[seen->count].value =
		call->functionReturnValue ? *(const int *)call->functionReturnValue : -100;
	seen->calls[seen->count].cbid = cbid;
	seen->calls[seen->count++].thread = pthread_self();
}

static void subscribe(struct seen *seen, CUpti_SubscriberHandle *ret_subscriber)
{
	EXPECT(!cuInit(0));
	setenv("NVTX_INJECTION64_PATH", library, 1);
	nvtxInitialize(NULL);
	EXPECT(client_open(library));
	EXPECT_EQUAL(CALL(cuptiSubscribe, ret_subscriber, on_callback, seen), 0);
}

static void *push_and_pop(void *unused)
{
	nvtxRangePushA("other");
	nvtxRangePop();
	return unused;
}

static void test_calls_are_told(void)
{
	nvtxEventAttributes_t event = {.version = NVTX_VERSION,
				       .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
				       .messageType = NVTX_MESSAGE_TYPE_ASCII,
				       .message.ascii = "in a domain"};
	CUpti_SubscriberHandle subscriber;
	struct seen seen = {0};
	pthread_t other;

	subscribe(&seen, &subscriber);
	nvtxMarkA("nobody listens");
	EXPECT_EQUAL(seen.count, 0);
	EXPECT_EQUAL(CALL(cuptiEnableDomain, 1, subscriber, CUPTI_CB_DOMAIN_NVTX), 0);
	EXPECT_EQUAL(nvtxRangePushA("outer"), 0);
	EXPECT_EQUAL(nvtxRangePushA("inner"), 1);
	EXPECT(!pthread_create(&other, NULL, push_and_pop, NULL));
	EXPECT(!pthread_join(other, NULL));
	EXPECT_EQUAL(nvtxRangePop(), 1);
	EXPECT_EQUAL(nvtxRangePop(), 0);
	nvtxDomainMarkEx(nvtxDomainCreateA("domain"), &event);
	EXPECT_EQUAL(seen.count, 8);
	EXPECT(!strcmp(seen.calls[0].name, "nvtxRangePushA"));
	EXPECT(!strcmp(seen.calls[0].message, "outer"));
	EXPECT_EQUAL(seen.calls[1].value, 1);
	EXPECT(!strcmp(seen.calls[2].message, "other"));
	EXPECT_EQUAL(seen.calls[2].value, 0);
	EXPECT(pthread_equal(seen.calls[2].thread, other));
	EXPECT(pthread_equal(seen.calls[4].thread, pthread_self()));
	EXPECT_EQUAL(seen.calls[6].cbid, CUPTI_CBID_NVTX_nvtxDomainCreateA);
	EXPECT(!strcmp(seen.calls[7].message, "in a domain"));
	EXPECT_EQUAL(CALL(cuptiUnsubscribe, subscriber), 0);
	nvtxMarkA("nobody listens any more");
	EXPECT_EQUAL(seen.count, 8);
}

static void test_only_what_was_asked_for(void)
{
	CUpti_SubscriberHandle subscriber;
	struct seen seen = {0};

	subscribe(&seen, &subscriber);
	EXPECT_EQUAL(CALL(cuptiEnableCallback, 1, subscriber, CUPTI_CB_DOMAIN_NVTX,
			  CUPTI_CBID_NVTX_nvtxMarkA),
		     0);
	nvtxRangePushA("range");
	nvtxMarkA("mark");
	nvtxRangePop();
	EXPECT_EQUAL(seen.count, 1);
	EXPECT(!strcmp(seen.calls[0].message, "mark"));
}

/* Without a driver that it can use it takes none of NVTX's functions. */
static void test_no_driver(void)
{
	setenv("NVTX_INJECTION64_PATH", library, 1);
	EXPECT_EQUAL(nvtxRangePushA("range"), NVTX_NO_PUSH_POP_TRACKING);
}

static const struct test_case cases[] = {
	{"nvtx_calls_are_told", test_calls_are_told, NULL, NULL},
	{"nvtx_only_what_was_asked_for", test_only_what_was_asked_for, NULL, NULL},
	{"nvtx_no_driver", test_no_driver, "SIM_DRIVER_VERSION", "10000"},
};

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: test_nvtx LIBCUPTI\n");
		return 2;
	}
	library = argv[1];
	return run_cases(cases, sizeof(cases) / sizeof(cases[0]));
}
