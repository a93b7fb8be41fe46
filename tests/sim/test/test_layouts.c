/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of layouts beside the real headers of 13.0: all of it is checked by the compiler. */
#include <stddef.h>
#include <stdio.h>
#include <cupti.h>

#if CUPTI_API_VERSION >= 130000 && CUPTI_API_VERSION < 130100
typedef CUpti_ActivityKernel10 header_KERNEL;
typedef CUpti_ActivityMemcpy6 header_MEMCPY;
typedef CUpti_ActivityMemcpyPtoP4 header_MEMCPY2;
typedef CUpti_ActivityMemset4 header_MEMSET;
typedef CUpti_ActivitySynchronization2 header_SYNCHRONIZATION;
typedef CUpti_ActivityAPI header_API;
typedef CUpti_ActivityExternalCorrelation header_EXTERNAL_CORRELATION;
typedef CUpti_ActivityGraphTrace2 header_GRAPH_TRACE;
typedef CUpti_ActivityMemory4 header_MEMORY2;
typedef CUpti_ActivityMemoryPool3 header_MEMORY_POOL;
typedef CUpti_ActivityUnifiedMemoryCounter3 header_MANAGED;
typedef CUpti_ActivityOverhead3 header_OVERHEAD;
typedef CUpti_ActivityCudaEvent2 header_CUDA_EVENT;
typedef CUpti_ActivityDevice5 header_DEVICE;
typedef CUpti_ActivityContext3 header_CONTEXT;
typedef CUpti_ActivityEnvironment header_ENVIRONMENT;
typedef CUpti_ActivityStream header_STREAM;
typedef CUpti_ActivityMarker2 header_MARKER;

#define CHECK_FIELD(record, path, offset, bytes)                                \
	_Static_assert(offsetof(header_##record, path) == (offset) &&           \
			       sizeof(((header_##record *)0)->path) == (bytes), \
		       #record " " #path);
#define SIM_FIELD(record, field, offset, bytes)	     CHECK_FIELD(record, field, offset, bytes)
#define SIM_PART(record, field, path, offset, bytes) CHECK_FIELD(record, path, offset, bytes)
#define SIM_LATER(record, field, offset, bytes)
#include "../cupti/layouts.def"

int main(void)
{
	printf("ok layouts\n");
	return 0;
}
#else
int main(void)
{
	printf("skip layouts: the headers of this build are not those of CUDA 13.0\n");
	return 0;
}
#endif
