/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The library as the tool that NVTX_INJECTION64_PATH names: it takes NVTX's functions, and tells its subscriber of each
 * call. Without a driver the real 13.0 says that it could, and takes none; so does this one.
 */
#include <stdatomic.h>
#include <cuda_runtime_api.h>

/* The declarations alone: what uses NVTX would itself be taken by a tool. */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <generated_nvtx_meta.h>

#include "cupti_sim.h"

static __thread int depth;
static atomic_uint_fast64_t ids;

/* What NVTX says of a pop without its push is any negative number. */
static int level_popped(void)
{
	return depth ? --depth : -1;
}

static nvtxRangeId_t range_id(void)
{
	return atomic_fetch_add(&ids, 1) + 1;
}

static void *handle(void)
{
	return (void *)(uintptr_t)range_id();
}

static void tell(unsigned cbid, const char *name, const void *params, const void *value)
{
	CUpti_NvtxData data = {name, params, value};

	sim_deliver(CUPTI_CB_DOMAIN_NVTX, cbid, &data);
}

#define NVTX_NOTHING(module, name, parameters, ...)                            \
	static void on_##name parameters                                       \
	{                                                                      \
		nvtx##name##_params params = __VA_ARGS__;                      \
                                                                               \
		tell(CUPTI_CBID_NVTX_nvtx##name, "nvtx" #name, &params, NULL); \
	}
#define NVTX_VALUE(module, name, type, value, parameters, ...)                    \
	static type on_##name parameters                                          \
	{                                                                         \
		nvtx##name##_params params = __VA_ARGS__;                         \
		type result = value;                                              \
                                                                                  \
		tell(CUPTI_CBID_NVTX_nvtx##name, "nvtx" #name, &params, &result); \
		return result;                                                    \
	}
#include "nvtx.def"

struct taken {
	NvtxCallbackModule module;
	unsigned number;
	NvtxFunctionPointer function;
};

static const struct taken taken[] = {
#define NVTX_NOTHING(module, name, parameters, ...) \
	{NVTX_CB_MODULE_##module, NVTX_CBID_##module##_##name, (NvtxFunctionPointer)on_##name},
#define NVTX_VALUE(module, name, type, value, parameters, ...) \
	{NVTX_CB_MODULE_##module, NVTX_CBID_##module##_##name, (NvtxFunctionPointer)on_##name},
#include "nvtx.def"
};

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
	const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
	NvtxFunctionTable table;
	unsigned size;

	if (sim_gate(__func__))
		return 1;
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		if (!callbacks->GetModuleFunctionTable(taken[i].module, &table, &size))
			return 0;
		if (taken[i].number < size)
			*table[taken[i].number] = taken[i].function;
	}
	return 1;
}
