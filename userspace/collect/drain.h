/*
 * The drain thread: rings -> batches, handed to the capture thread every 100 ms or when full. It polls
 * every few milliseconds, because records do not wake it (bpf/emit.h).
 */
#ifndef GPUPROBE_COLLECT_DRAIN_H
#define GPUPROBE_COLLECT_DRAIN_H

#include "collect/batch_queue.h"
#include "collect/bpf_source.h"

struct drain;

/* bpf_place: text id (BPF) that its loss records name as their place. */
int drain_start(struct bpf_source *source, struct batch_queue *queue, u32 bpf_place,
		struct drain **ret_drain, struct err *err);
/* Events (records that are no facts) so far, any thread. */
u64 drain_event_count(const struct drain *drain);
/* Empties the rings, hands on what is there, joins the thread, frees it; returns NULL. The counts (NULL is
 * allowed): events handed on, and records those for which there was no memory. */
struct drain *drain_finish(struct drain *drain, u64 *ret_event_count, u64 *ret_unstored_count);

/* Adds loss records for what the BPF programs counted; open_count: calls found open besides. */
int drain_add_losses(struct bpf_source *source, u32 bpf_place, u64 open_count, struct batch *batch);

#endif
