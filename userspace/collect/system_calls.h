/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of system calls, as this architecture numbers them. */
#ifndef GPUPROBE_COLLECT_SYSTEM_CALLS_H
#define GPUPROBE_COLLECT_SYSTEM_CALLS_H

#include "base/types.h"
#include "store/batch.h"
#include "../bpf/shared.h"

/* Those that a capture has. Zero-initialise; one thread at a time. */
struct system_calls {
	bool sent[SYSTEM_CALLS_MAX];
};

/* Adds to batch the texts of those system calls that its events are named by, each once a recording: of some hundred that there
 * are a target uses few. One for which there is no memory is shown as its number. */
void system_calls_put(struct system_calls *calls, struct batch *batch);

#endif
