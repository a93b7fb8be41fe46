/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What GPUs can do at most, by their names: the published figures of gpu_peaks.def.
 */
#ifndef GPUPROBE_EXPORTERS_XPLANE_GPU_PEAKS_H
#define GPUPROBE_EXPORTERS_XPLANE_GPU_PEAKS_H

#include "base/types.h"

struct gpu_peak {
	double tflops;	     /* of tensor cores on 16-bit numbers, dense */
	u64 bandwidth_bytes; /* of its memory, a second */
};

/* By the name that CUDA gives a GPU; NULL: not known. */
const struct gpu_peak *gpu_peak(const char *name);

#endif
