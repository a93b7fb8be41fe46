/* SPDX-License-Identifier: MIT */
#include "cupti_managed.h"

#include <string.h>

#define MEMORY_KIND_MANAGED	 5   /* CUpti_ActivityMemoryKind */
#define RUNTIME_MALLOC_MANAGED	 206 /* CUPTI_RUNTIME_TRACE_CBID_cudaMallocManaged_v6000 */
#define DRIVER_MEM_ALLOC_MANAGED 371 /* CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged */

/* The number at an offset of a kind's record, which all versions have there (cupti_layout.def). */
static const struct {
	u8 kind, at, bytes;
	u16 value;
} signs[] = {
	{1, 5, 1, MEMORY_KIND_MANAGED},	     /* MEMCPY.srcKind */
	{1, 6, 1, MEMORY_KIND_MANAGED},	     /* MEMCPY.dstKind */
	{2, 50, 2, MEMORY_KIND_MANAGED},     /* MEMSET.memoryKind */
	{4, 4, 4, DRIVER_MEM_ALLOC_MANAGED}, /* DRIVER.cbid */
	{5, 4, 4, RUNTIME_MALLOC_MANAGED},   /* RUNTIME.cbid */
	{49, 8, 4, MEMORY_KIND_MANAGED},     /* MEMORY2.memoryKind */
};

bool cupti_managed_sign(u32 kind, const u8 *activity, u32 bytes)
{
	for (u32 i = 0; i < ARRAY_SIZE(signs); i++) {
		u32 value = 0;

		if (signs[i].kind != kind || (u32)signs[i].at + signs[i].bytes > bytes)
			continue;
		memcpy(&value, activity + signs[i].at, signs[i].bytes);
		if (value == signs[i].value)
			return true;
	}
	return false;
}
