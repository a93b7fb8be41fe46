/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tool for NVTX (NVTX_INJECTION64_PATH) that takes two of its functions. */
#include <stdio.h>

#include <nvtx3/nvToolsExt.h>

static int push(const char *message)
{
	return 7;
}

static int pop(void)
{
	return 7;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
	const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
	NvtxFunctionTable table;
	unsigned size;

	if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size))
		return 0;
	*table[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)push;
	*table[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)pop;
	return 1;
}
