/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Batches between two threads: filled by one, emptied by the other, a fixed number of them in all, so that
 * memory is bounded. Thread-safe.
 */
#ifndef GPUPROBE_COLLECT_BATCH_QUEUE_H
#define GPUPROBE_COLLECT_BATCH_QUEUE_H

#include "base/err.h"
#include "store/batch.h"

struct batch_queue;

int batch_queue_create(size_t batch_count, struct batch_queue **ret_queue, struct err *err);
/* An empty batch to fill; blocks until the other side gave one back. */
struct batch *batch_queue_take_empty(struct batch_queue *queue);
void batch_queue_put_full(struct batch_queue *queue, struct batch *batch);
/* The oldest full one; blocks; NULL when the queue was closed and is empty. */
struct batch *batch_queue_take_full(struct batch_queue *queue);
void batch_queue_put_empty(struct batch_queue *queue, struct batch *batch);
/* Nothing more will be put; what is there is still taken. */
void batch_queue_close(struct batch_queue *queue);
/* NULL is allowed; returns NULL. No thread may use it any more. */
struct batch_queue *batch_queue_free(struct batch_queue *queue);

#endif
