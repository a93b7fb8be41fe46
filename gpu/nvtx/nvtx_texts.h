/* SPDX-License-Identifier: MIT */
/*
 * The strings of NVTX, as texts.h has those of CUPTI, but for all threads of the target at once, without a lock: two
 * threads that bring a new string at the same moment may each get an id for it. The first 32,768 are known again; each later one gets an
 * id of its own whenever it comes in the window, so that it takes no memory of the target, 400,000 at most. Ids are apart from those of texts.h.
 */
#ifndef GPUPROBE_GPU_NVTX_TEXTS_H
#define GPUPROBE_GPU_NVTX_TEXTS_H

#include "../base/ring.h"

#define NVTX_TEXT_BYTES_MAX 1024 /* what is longer is cut */

struct nvtx_texts;

/* texts_max: how many ids at most. fact_ns: from when on they hold. NULL: no memory. */
struct nvtx_texts *nvtx_texts_open(u32 texts_max, u64 fact_ns);
void nvtx_texts_close(struct nvtx_texts *texts); /* NULL allowed */

/* The id of the string; 0: there is no room for more (counted), or the string is empty or NULL. */
u32 nvtx_texts_put(struct nvtx_texts *texts, struct ring_writer *writer, const char *string);
/* The same of a string of wchar_t. */
u32 nvtx_texts_put_wide(struct nvtx_texts *texts, struct ring_writer *writer, const u32 *string);
/* For an id of nvtx_texts_put(), from whatever time: sends the string if it was kept and that has not succeeded yet. The id, or 0
 * when there is no such string. */
u32 nvtx_texts_send(struct nvtx_texts *texts, struct ring_writer *writer, u32 id);

#endif
