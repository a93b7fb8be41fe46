/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which CUDA a driver or a libcupti.so is of, by what lies on the disk: nothing is loaded, no function is called.
 * Versions as cuDriverGetVersion writes them: 12060 is CUDA 12.6.
 */
#ifndef GPUPROBE_CUDA_CUPTI_VERSION_H
#define GPUPROBE_CUDA_CUPTI_VERSION_H

#include <stdbool.h>

#include "base/types.h"

#define CUPTI_VERSION_OLDEST 11080 /* before, records are others than the agent knows */

/* "580.65.06": the CUDA of that driver; of one newer than the table: the newest that it knows. 0: not a version, or
 * too old for any. */
u32 cupti_version_of_driver(const char *driver);

struct cupti_version {
	u32 version;	 /* 0: not told */
	bool minor_known; /* false: version is MAJOR * 1000 */
};

/*
 * Of the file path below the folder root_fd, which is the root that path and all links are resolved in. Told by the
 * name of the file, by the version.json of a toolkit, by the name of a wheel's folder, by that of a folder.
 */
struct cupti_version cupti_version_of_file(int root_fd, const char *path);

#endif
