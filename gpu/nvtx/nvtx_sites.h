/* SPDX-License-Identifier: MIT */
/*
 * The places where gpuprobe has found what nvtx_globals.h describes. The agent believes none of them: it looks for
 * itself, while the dynamic loader can't take the library away, and writes only to data that the loader left writable.
 */
#ifndef GPUPROBE_GPU_NVTX_SITES_H
#define GPUPROBE_GPU_NVTX_SITES_H

#include <string.h>

#include "../base/types.h"
#include "../shared.h"
#include "../resident/resident.h"
#include "nvtx_globals.h"

/* Before the words of those that nobody has are set: which ones (bits), by number. */
struct nvtx_sites_config {
	const struct resident *resident;
	u64 words; /* bits of the functions that are taken */
	bool tool_named; /* what is not initialised yet is left to that tool */
};

/* Sets the words of all of them that are nobody's. Those that were not initialised are from now on. */
struct agent_nvtx_facts nvtx_sites_take(const struct nvtx_sites_config *config, const u64 *addresses, u32 count,
					u32 *initialised_count);
/* Words that still are ours become NULL. */
void nvtx_sites_give_back(const struct nvtx_sites_config *config, const u64 *addresses, u32 count);

/* One of them, which is known to stay mapped. */
enum nvtx_site { NVTX_SITE_TAKEN, NVTX_SITE_FOREIGN, NVTX_SITE_STARTING, NVTX_SITE_GONE };
enum nvtx_site nvtx_site_take(const struct nvtx_sites_config *config, struct nvtx_globals *globals,
			      bool *ret_initialised);
void nvtx_site_give_back(const struct nvtx_sites_config *config, struct nvtx_globals *globals);

#endif
