/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How others find the driver's functions. */
#include <stdio.h>
#include <string.h>
#include "driver.h"

#define MAX_SYMBOL  128
#define MAX_VERSION 9

static void *find_exact(const char *name)
{
	for (const struct sim_symbol *symbol = sim_symbols; symbol->name; symbol++)
		if (!strcmp(symbol->name, name))
			return symbol->address;
	return NULL;
}

/* The newest of cuX, cuX_v2, ..., as the headers of the build know them. */
static void *find_newest(const char *name, bool per_thread)
{
	static const char *const suffixes[] = {"_ptsz", "_ptds", ""};
	char versioned[MAX_SYMBOL];
	void *found = NULL;

	for (size_t i = per_thread ? 0 : 2; i < 3 && !found; i++) {
		for (unsigned version = MAX_VERSION; version >= 2 && !found; version--) {
			snprintf(versioned, sizeof(versioned), "%s_v%u%s", name, version,
				 suffixes[i]);
			found = find_exact(versioned);
		}
		if (!found) {
			snprintf(versioned, sizeof(versioned), "%s%s", name, suffixes[i]);
			found = find_exact(versioned);
		}
	}
	return found;
}

static CUresult get_address(const char *name, void **function, cuuint64_t flags,
			    CUdriverProcAddressQueryResult *status)
{
	*function = find_newest(name, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
	if (status)
		*status = *function ? CU_GET_PROC_ADDRESS_SUCCESS
				    : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult run_cuGetProcAddress(const cuGetProcAddress_params *params)
{
	return get_address(params->symbol, params->pfn, params->flags, NULL);
}

CUresult run_cuGetProcAddress_v2(const cuGetProcAddress_v2_params *params)
{
	return get_address(params->symbol, params->pfn, params->flags, params->symbolStatus);
}

CUresult run_cuGetExportTable(const cuGetExportTable_params *params)
{
	static const CUuuid ours = {SIM_TABLE_UUID};

	if (memcmp(params->pExportTableId, &ours, sizeof(ours)))
		return CUDA_ERROR_INVALID_VALUE;
	*params->ppExportTable = &sim_interface;
	return CUDA_SUCCESS;
}

const struct sim_interface *simDriverTable(void)
{
	return &sim_interface;
}

static const struct {
	CUresult code;
	const char *name;
} errors[] = {
	{CUDA_SUCCESS, "CUDA_SUCCESS"},
	{CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
	{CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
	{CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"},
	{CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
	{CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
	{CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},
	{CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
	{CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY"},
	{CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED"},
};

static CUresult describe(CUresult code, const char **text)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].code == code) {
			*text = errors[i].name;
			return CUDA_SUCCESS;
		}
	}
	*text = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult run_cuGetErrorName(const cuGetErrorName_params *params)
{
	return describe(params->error, params->pStr);
}

CUresult run_cuGetErrorString(const cuGetErrorString_params *params)
{
	return describe(params->error, params->pStr);
}
