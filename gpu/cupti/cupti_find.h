/* SPDX-License-Identifier: MIT */
/*
 * Finds CUPTI in the target, however it was loaded (pip wheels map it privately, from a folder of their own), or
 * loads the one that gpuprobe names.
 */
#ifndef GPUPROBE_GPU_CUPTI_FIND_H
#define GPUPROBE_GPU_CUPTI_FIND_H

#include "cupti_calls.h"

struct cupti_library {
	void *handle;
	bool loaded_by_us;
	u32 copies; /* mapped at different paths */
	u32 driver_version; /* cuDriverGetVersion, 0: it did not say */
	u32 (*driver_get_version)(int *version); /* that function; NULL: there is none */
	char path[AGENT_PATH_BYTES];
	char other_path[AGENT_PATH_BYTES]; /* of a second copy */
	struct cupti_calls calls;
};

/*
 * control->cupti says what to load where none is mapped. AGENT_FEATURE_READY, or what became of it with the reason in
 * hint (AGENT_HINT_BYTES). No function of CUPTI is called: without a driver some versions crash in every one.
 */
enum agent_feature_state cupti_find(struct cupti_library *library, const struct loader *loader,
				    struct agent_control *control, char *hint);

#endif
