/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frame facts: the names of what the stacks of a recording lead to. */
#ifndef GPUPROBE_RECORDING_FRAMES_H
#define GPUPROBE_RECORDING_FRAMES_H

#include "process/code_map.h"
#include "python/python_codes.h"
#include "resolve/resolve.h"
#include "store/stack_addresses.h"

/* For debug files from servers, all together. */
#define FRAMES_DEBUG_TIME_NS (10 * NS_PER_SECOND)
#define FRAMES_DEBUG_BYTES   (200 * 1000 * 1000ULL)

struct frames_config {
	bool keeps_debug_files; /* for the next time */
	void (*on_debug_files_asked)(size_t count); /* before so many are asked for */
};

/* Adds them to batch, and to the ledger what took too long. Where DEBUGINFOD_URLS is set, stripped files get names from there.
 * 0 or -ENOMEM. Takes some seconds at most; says what else is wrong. */
int frames_put(const struct frames_config *config, const struct stack_addresses *stacks, const struct code_map *code,
	       const struct python_codes *python, struct text_ids *texts, struct batch *batch,
	       struct resolve_debug_status *ret_debug);

#endif
