/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/capture_thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "base/cleanup.h"
#include "store/capture_writer.h"

struct capture_thread {
	pthread_t thread;
	struct batch_queue *queue;
	struct capture_writer *writer;
	int error_fd;
	struct err error; /* the thread's until it is joined */
	u64 dropped;
};

static void *capture_thread_main(void *data)
{
	struct capture_thread *thread = data;
	struct batch *batch;

	while ((batch = batch_queue_take_full(thread->queue))) {
		if (thread->error.code) {
			thread->dropped += batch_event_count(batch);
		} else if (capture_writer_append(thread->writer, batch, &thread->error)) {
			thread->dropped += batch_event_count(batch);
			eventfd_write(thread->error_fd, 1);
		}
		batch_queue_put_empty(thread->queue, batch);
	}
	return NULL;
}

int capture_thread_start(int fd, struct batch_queue *queue, struct capture_thread **ret_thread,
			 struct err *err)
{
	struct capture_thread *thread = calloc(1, sizeof(*thread));
	int result;

	if (!thread)
		return err_errno(err, -ENOMEM, "can't start writing the capture");
	thread->queue = queue;
	thread->error_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	result = thread->error_fd < 0 ? err_errno(err, -errno, "can't start writing the capture")
				      : capture_writer_create(fd, &thread->writer, err);
	if (!result) {
		result = -pthread_create(&thread->thread, NULL, capture_thread_main, thread);
		if (result)
			err_errno(err, result, "can't start the thread that writes the capture");
	}
	if (result) {
		capture_writer_free(thread->writer);
		cleanup_close(&thread->error_fd);
		free(thread);
		return result;
	}
	*ret_thread = thread;
	return 0;
}

int capture_thread_error_fd(const struct capture_thread *thread)
{
	return thread->error_fd;
}

int capture_thread_finish(struct capture_thread **thread_pointer, u64 *ret_dropped, struct err *err)
{
	struct capture_thread *thread = *thread_pointer;
	int result;

	batch_queue_close(thread->queue);
	pthread_join(thread->thread, NULL);
	result = thread->error.code;
	if (result)
		err_set(err, result, "%s", thread->error.message);
	else
		result = capture_writer_finish(thread->writer, err);
	*ret_dropped = thread->dropped;
	capture_writer_free(thread->writer);
	close(thread->error_fd);
	free(thread);
	*thread_pointer = NULL;
	return result;
}
