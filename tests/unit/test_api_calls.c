/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which API calls are recorded: by what they are called, and which numbers that comes to in the library at hand. */
#include "real_cupti.h"
#include "unit.h"

#include <string.h>

#include "../gpu/cupti/api_calls.h"
#include "../bpf/record.h"

#define DRIVER	VALUE_api_domain_driver
#define RUNTIME VALUE_api_domain_runtime

static const struct {
	u32 domain;
	const char *name;
	enum api_group group;
} expected[] = {
	{RUNTIME, "cudaLaunchKernel_v7000", API_GROUP_LAUNCH},
	{RUNTIME, "cudaLaunchKernelExC_ptsz_v11060", API_GROUP_LAUNCH},
	{RUNTIME, "__cudaLaunchKernel", API_GROUP_LAUNCH},
	{RUNTIME, "cudaGraphLaunch_v10000", API_GROUP_LAUNCH},
	{DRIVER, "cuLaunchKernelEx_ptsz", API_GROUP_LAUNCH},
	{DRIVER, "cuLaunchHostFunc", API_GROUP_LAUNCH},
	{DRIVER, "cuLaunchGridAsync", API_GROUP_LAUNCH},
	{RUNTIME, "cudaMemcpy2DToArrayAsync_v3020", API_GROUP_COPY},
	{RUNTIME, "cudaMemcpyPeerAsync_v4000", API_GROUP_COPY},
	{DRIVER, "cuMemcpyHtoDAsync_v2_ptsz", API_GROUP_COPY},
	{DRIVER, "cuMemcpyBatchAsync_v2", API_GROUP_COPY},
	{DRIVER, "cuMemPrefetchAsync", API_GROUP_COPY},
	{RUNTIME, "cudaMemset3DAsync_ptsz_v7000", API_GROUP_SET},
	{DRIVER, "cuMemsetD2D32Async", API_GROUP_SET},
	{RUNTIME, "cudaMallocManaged_v6000", API_GROUP_ALLOCATE},
	{RUNTIME, "cudaFreeHost_v3020", API_GROUP_ALLOCATE},
	{DRIVER, "cuMemFreeAsync_ptsz", API_GROUP_ALLOCATE},
	{DRIVER, "cuMemCreate", API_GROUP_ALLOCATE},
	{RUNTIME, "cudaHostRegister_v4000", API_GROUP_REGISTER},
	{DRIVER, "cuMemHostRegister_v2", API_GROUP_REGISTER},
	{RUNTIME, "cudaDeviceSynchronize_v3020", API_GROUP_SYNCHRONISE},
	{DRIVER, "cuStreamWaitValue64_v2", API_GROUP_SYNCHRONISE},
	{DRIVER, "cuModuleLoadDataEx", API_GROUP_LOAD},
	{DRIVER, "cuLibraryLoadData", API_GROUP_LOAD},
	{DRIVER, "cuLinkAddData_v2", API_GROUP_COMPILE},
	{RUNTIME, "cudaGraphInstantiateWithFlags_v11040", API_GROUP_GRAPH},
	{DRIVER, "cuEventRecordWithFlags_ptsz", API_GROUP_EVENT},
	{RUNTIME, "cudaMemPoolTrimTo_v11020", API_GROUP_POOL},
	{DRIVER, "cuKernelGetName", API_GROUP_PROFILER},
	{DRIVER, "cuKernelGetAttribute", API_GROUP_OTHER},
	{DRIVER, "cuKernelSetAttribute", API_GROUP_OTHER},
	{DRIVER, "cuCtxGetLimit", API_GROUP_OTHER},
	{DRIVER, "cuEventQuery", API_GROUP_OTHER},
	{RUNTIME, "cudaEventQuery_v3020", API_GROUP_OTHER},
	{RUNTIME, "cudaMemGetInfo_v3020", API_GROUP_OTHER},
	{RUNTIME, "cudaSetDevice_v3020", API_GROUP_OTHER},
	{DRIVER, "cuModuleGetLoadingMode", API_GROUP_OTHER},
	/* A name of the other domain says nothing. */
	{DRIVER, "cudaLaunchKernel_v7000", API_GROUP_OTHER},
	{DRIVER, "cu", API_GROUP_OTHER},
	{RUNTIME, "", API_GROUP_OTHER},
	{RUNTIME, NULL, API_GROUP_OTHER},
};

TEST(a_call_belongs_to_a_group_by_its_name)
{
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		if (api_calls_group(expected[i].domain, expected[i].name) != expected[i].group)
			UNIT_FAIL("%s is of group %u, expected %u", expected[i].name,
				  api_calls_group(expected[i].domain, expected[i].name),
				  expected[i].group);
}

TEST(each_set_of_groups_holds_the_one_before)
{
	CHECK_U64(API_GROUPS_DEFAULT & API_GROUPS_FULL, API_GROUPS_DEFAULT);
	CHECK_U64(API_GROUPS_FULL & API_GROUPS_EVERY, API_GROUPS_FULL);
	CHECK_U64(API_GROUPS_FULL - API_GROUPS_DEFAULT, API_GROUP_BIT(EVENT) | API_GROUP_BIT(POOL));
	CHECK_U64(API_GROUPS_EVERY | API_GROUP_BIT(PROFILER), (1U << API_GROUPS) - 1);
	CHECK(!(API_GROUPS_EVERY & API_GROUP_BIT(PROFILER)));
}

/* ---- numbers: those of docs/cupti.md, in a real library where there is one ---- */

static u32 (*get_callback_name)(u32 domain, u32 callback, const char **name);

static const char *real_name(void *data, u32 domain, u32 callback)
{
	const char *name = NULL;

	return get_callback_name(domain, callback, &name) ? NULL : name;
}

static u32 count(const struct api_set *set, u32 domain)
{
	u32 count = 0;

	for (u32 callback = 0; callback < API_CALLS_MAX; callback++)
		count += api_set_has(set, domain, callback);
	return count;
}

TEST(the_numbers_of_a_real_library)
{
	static const u16 in_driver[] = {307, 442, 652, 653, 514, 527, 276, 305, 776, 249,
					243, 245, 294, 301, 17,	 126, 121, 295, 656, 550};
	static const u16 in_runtime[] = {211, 214, 430, 311, 41,  31,  51,  20,	 22, 25,
					 27,  152, 131, 137, 165, 147, 310, 373, 206};
	static const u16 not_in_driver[] = {719, 686, 687, 137, 120, 125, 304, 119};
	static const u16 not_in_runtime[] = {138, 10, 17, 16, 132, 133, 370};
	void *library = real_cupti_open();
	struct api_set set;

	if (!library)
		SKIP(REAL_CUPTI_MISSING);
	*(void **)&get_callback_name = dlsym(library, "cuptiGetCallbackName");
	api_calls_resolve(&set, API_GROUPS_DEFAULT, real_name, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(in_driver); i++)
		if (!api_set_has(&set, DRIVER, in_driver[i]))
			UNIT_FAIL("driver call %u is not in the set", in_driver[i]);
	for (size_t i = 0; i < ARRAY_SIZE(in_runtime); i++)
		if (!api_set_has(&set, RUNTIME, in_runtime[i]))
			UNIT_FAIL("runtime call %u is not in the set", in_runtime[i]);
	for (size_t i = 0; i < ARRAY_SIZE(not_in_driver); i++)
		if (api_set_has(&set, DRIVER, not_in_driver[i]))
			UNIT_FAIL("driver call %u is in the set", not_in_driver[i]);
	for (size_t i = 0; i < ARRAY_SIZE(not_in_runtime); i++)
		if (api_set_has(&set, RUNTIME, not_in_runtime[i]))
			UNIT_FAIL("runtime call %u is in the set", not_in_runtime[i]);
	CHECK(count(&set, DRIVER) > 150 && count(&set, DRIVER) < 350);
	CHECK(count(&set, RUNTIME) > 80 && count(&set, RUNTIME) < 250);
	api_calls_resolve(&set, API_GROUPS_EVERY, real_name, NULL);
	CHECK(api_set_has(&set, DRIVER, 686) && !api_set_has(&set, DRIVER, 719));
	CHECK(!api_set_has(&set, DRIVER, API_CALLS_MAX) && !api_set_has(&set, 0, 1) &&
	      !api_set_has(&set, 3, 1));
}

UNIT_MAIN()
