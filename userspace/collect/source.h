/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where records come from, behind one interface: the drain thread knows nothing else of BPF or of agents. All
 * functions are called by the drain thread while it runs, and by the main thread after it was joined.
 */
#ifndef GPUPROBE_COLLECT_SOURCE_H
#define GPUPROBE_COLLECT_SOURCE_H

#include "store/batch.h"

/* A negative result ends this round; the record counts as taken. */
typedef int (*record_callback)(void *data, const struct record_header *record, size_t size_bytes);

struct record_source {
	void *data;
	/* Hands over what is there; the number of records, or the negative result of the callback. */
	int (*drain)(void *data, record_callback callback, void *callback_data);
	/* Adds loss facts for what did not make it, in all so far. 0 or -errno. */
	int (*add_losses)(void *data, struct batch *batch);
};

#endif
