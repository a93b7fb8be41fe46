/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/xplane/gpu_peaks.h"

#include <fnmatch.h>

#include "base/array.h"

#define BYTES_OF_GB 1000000000ULL

static const struct {
	const char *name;
	struct gpu_peak peak;
} peaks[] = {
#define GPU_PEAK(name, tflops, bandwidth_gb_s) {name, {tflops, bandwidth_gb_s * BYTES_OF_GB}},
#include "exporters/xplane/gpu_peaks.def"
#undef GPU_PEAK
};

const struct gpu_peak *gpu_peak(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(peaks); i++)
		if (fnmatch(peaks[i].name, name, 0) == 0)
			return &peaks[i].peak;
	return NULL;
}
