/* SPDX-License-Identifier: MIT */
/* CUPTI as the agent sees it: the functions of cupti_calls.def in the library that the target has loaded. */
#ifndef GPUPROBE_GPU_CUPTI_CALLS_H
#define GPUPROBE_GPU_CUPTI_CALLS_H

#include "../base/cupti_callbacks.h"
#include "../base/loader.h"

/* CUpti_CallbackDomain, and answers that are told apart (CUptiResult). */
enum cupti_domain { CUPTI_DOMAIN_DRIVER = 1, CUPTI_DOMAIN_RUNTIME = 2 };

/* Callback ids of the calls that the agent makes itself: they need no context and change nothing. */
enum cupti_harmless {
	CUPTI_DRIVER_GET_VERSION = 2,  /* CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion */
	CUPTI_RUNTIME_GET_VERSION = 2, /* CUPTI_RUNTIME_TRACE_CBID_cudaRuntimeGetVersion_v3020 */
};

enum cupti_result {
	CUPTI_OK = 0,
	CUPTI_NOT_CALLED = 998, /* not CUPTI's: it has no such function */
	CUPTI_TAKEN = 39,	/* another subscriber holds it */
	CUPTI_OTHER_FAMILY = 14, /* somebody calls the other family (cupti_family.h) */
};

/* Versions, as cuptiGetVersion tells them, from which on something is different. */
#define CUPTI_VERSION_FINALIZE_SAFE   24     /* 12.6: no crash with graphs */
#define CUPTI_VERSION_NO_BUFFER_SAFE  27     /* 12.9: a request may be answered with no buffer */
#define CUPTI_VERSION_SUBSCRIBE_V2    130000
#define CUPTI_VERSION_THREAD_BUFFERS  130000 /* each thread fills a buffer of its own, unless attribute 9 says otherwise */
#define CUPTI_VERSION_STRUCT_SIZE     130200 /* and cupti_subscriber may have 40 bytes */
#define CUPTI_VERSION_SEVERAL	      130300 /* several subscribers, with this driver (r610): */
#define CUPTI_DRIVER_SEVERAL	      13030  /* as cuDriverGetVersion tells it */

/* CUpti_SubscriberParams */
struct cupti_subscriber {
	size_t struct_bytes; /* 32; from 13.2 on 40, with which allow_multiple is decided for all */
	const char *name;
	char *old_name; /* of who holds it */
	size_t old_name_bytes;
	u8 allow_multiple;
};

/* CUpti_ActivityUnifiedMemoryCounterConfig */
struct cupti_unified_memory {
	u32 scope, kind, device, enable;
};

struct cupti_calls {
#define CALL(need, name, ...) u32 (*name)(__VA_ARGS__);
#include "cupti_calls.def"
#undef CALL
};

/* NULL, or the name of a function that is missing. */
const char *cupti_calls_find(struct cupti_calls *calls, const struct loader *loader, void *handle);

#endif
