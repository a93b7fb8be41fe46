/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread that writes batches to the capture file, so that a slow disk does not stall draining. After
 * the first error it drops what comes (counted) and tells the session, which then ends.
 */
#ifndef GPUPROBE_COLLECT_CAPTURE_THREAD_H
#define GPUPROBE_COLLECT_CAPTURE_THREAD_H

#include "base/err.h"
#include "collect/batch_queue.h"

struct capture_thread;

/* fd: the empty capture file, stays the caller's. */
int capture_thread_start(int fd, struct batch_queue *queue, struct capture_thread **ret_thread,
			 struct err *err);
/* Polls readable after an error. */
int capture_thread_error_fd(const struct capture_thread *thread);
/* Closes the queue, waits until everything is written, writes the end of the capture, frees the thread
 * (set to NULL). The error is the first one that happened; *ret_dropped the records dropped after it. */
int capture_thread_finish(struct capture_thread **thread, u64 *ret_dropped, struct err *err);

#endif
