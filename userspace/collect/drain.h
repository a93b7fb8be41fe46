/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The drain thread: rings -> batches, handed to the capture thread every 100 ms or when full. It polls
 * every few milliseconds, because records do not wake it (bpf/emit.h).
 */
#ifndef GPUPROBE_COLLECT_DRAIN_H
#define GPUPROBE_COLLECT_DRAIN_H

#include "base/err.h"
#include "collect/batch_queue.h"
#include "collect/source.h"
#include "collect/system_calls.h"
#include "store/kernel_texts.h"
#include "store/stack_addresses.h"

#define DRAIN_SOURCES_MAX 4

struct drain;

struct drain_config {
	struct record_source sources[DRAIN_SOURCES_MAX];
	size_t source_count;
	/* Until a ring fills up or the time is over. */
	void (*wait)(void *data, int timeout_ms);
	void *wait_data;
	struct batch_queue *queue;
	struct system_calls *system_calls; /* whose names are sent; the thread's until it is joined; NULL: none */
	struct kernel_texts *kernels; /* gathers names that may be those of kernels; as stacks */
	struct stack_addresses *stacks; /* gathers those of all stacks that come by; the thread's until it is joined; NULL: not */
};

/* config is copied. */
int drain_start(const struct drain_config *config, struct drain **ret_drain, struct err *err);
/* Events (records that are no facts) so far, any thread. */
u64 drain_event_count(const struct drain *drain);
/* Empties the rings, hands on what is there, joins the thread, frees it; returns NULL. The counts (NULL is
 * allowed): events handed on, and records those for which there was no memory. */
struct drain *drain_finish(struct drain *drain, u64 *ret_event_count, u64 *ret_unstored_count);

#endif
