/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/batch_queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

/* One lock for everything: batches change hands some ten times a second. */
struct batch_queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct batch **all;
	struct batch **empty; /* a stack */
	size_t empty_count;
	struct batch **full; /* a ring, the oldest at full_first */
	size_t full_first, full_count;
	size_t batch_count;
	bool closed;
};

int batch_queue_create(size_t batch_count, struct batch_queue **ret_queue, struct err *err)
{
	struct batch_queue *queue = calloc(1, sizeof(*queue));

	if (!queue)
		return err_errno(err, -ENOMEM, "can't make the queue of batches");
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->changed, NULL);
	queue->all = calloc(batch_count, sizeof(*queue->all));
	queue->empty = calloc(batch_count, sizeof(*queue->empty));
	queue->full = calloc(batch_count, sizeof(*queue->full));
	for (; queue->all && queue->empty && queue->full && queue->batch_count < batch_count;
	     queue->batch_count++) {
		if (batch_create(&queue->all[queue->batch_count]))
			break;
		queue->empty[queue->empty_count++] = queue->all[queue->batch_count];
	}
	if (queue->batch_count < batch_count) {
		batch_queue_free(queue);
		return err_errno(err, -ENOMEM, "can't make the queue of batches");
	}
	*ret_queue = queue;
	return 0;
}

struct batch *batch_queue_take_empty(struct batch_queue *queue)
{
	struct batch *batch;

	pthread_mutex_lock(&queue->lock);
	while (!queue->empty_count)
		pthread_cond_wait(&queue->changed, &queue->lock);
	batch = queue->empty[--queue->empty_count];
	pthread_mutex_unlock(&queue->lock);
	return batch;
}

void batch_queue_put_full(struct batch_queue *queue, struct batch *batch)
{
	pthread_mutex_lock(&queue->lock);
	queue->full[(queue->full_first + queue->full_count++) % queue->batch_count] = batch;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

struct batch *batch_queue_take_full(struct batch_queue *queue)
{
	struct batch *batch = NULL;

	pthread_mutex_lock(&queue->lock);
	while (!queue->full_count && !queue->closed)
		pthread_cond_wait(&queue->changed, &queue->lock);
	if (queue->full_count) {
		batch = queue->full[queue->full_first];
		queue->full_first = (queue->full_first + 1) % queue->batch_count;
		queue->full_count--;
	}
	pthread_mutex_unlock(&queue->lock);
	return batch;
}

void batch_queue_put_empty(struct batch_queue *queue, struct batch *batch)
{
	batch_clear(batch);
	pthread_mutex_lock(&queue->lock);
	queue->empty[queue->empty_count++] = batch;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

void batch_queue_close(struct batch_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->closed = true;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

struct batch_queue *batch_queue_free(struct batch_queue *queue)
{
	if (!queue)
		return NULL;
	for (size_t i = 0; i < queue->batch_count; i++)
		batch_free(queue->all[i]);
	free(queue->all);
	free(queue->empty);
	free(queue->full);
	pthread_mutex_destroy(&queue->lock);
	pthread_cond_destroy(&queue->changed);
	free(queue);
	return NULL;
}
