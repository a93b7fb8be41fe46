/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/writer.h"

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/output.h"
#include "base/thread.h"

struct writer_thread {
	pthread_t thread;
	struct output *output; /* the thread's while it runs */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Under the lock. */
	bool busy; /* chunk is the thread's, else the exporter's */
	bool stop;
	int result; /* of the first write that failed */
	struct text chunk;
};

static void *writer_run(void *data)
{
	struct writer_thread *thread = data;

	pthread_mutex_lock(&thread->lock);
	for (;;) {
		int result;

		while (!thread->busy && !thread->stop)
			pthread_cond_wait(&thread->changed, &thread->lock);
		if (!thread->busy)
			break;
		pthread_mutex_unlock(&thread->lock);
		result = output_write(thread->output, thread->chunk.data, thread->chunk.length);
		pthread_mutex_lock(&thread->lock);
		if (result < 0 && thread->result == 0)
			thread->result = result;
		thread->busy = false;
		pthread_cond_signal(&thread->changed);
	}
	pthread_mutex_unlock(&thread->lock);
	return NULL;
}

static int writer_start(struct writer_thread *thread)
{
	pthread_mutex_init(&thread->lock, NULL);
	pthread_cond_init(&thread->changed, NULL);
	return thread_start(&thread->thread, writer_run, thread);
}

/* Writes what was handed on and ends the thread. */
static void writer_stop(struct writer_thread *thread)
{
	pthread_mutex_lock(&thread->lock);
	thread->stop = true;
	pthread_cond_signal(&thread->changed);
	pthread_mutex_unlock(&thread->lock);
	pthread_join(thread->thread, NULL);
}

static void writer_free(struct writer_thread *thread)
{
	output_discard(thread->output);
	text_free(&thread->chunk);
	pthread_cond_destroy(&thread->changed);
	pthread_mutex_destroy(&thread->lock);
	free(thread);
}

int writer_create(struct writer *writer, const char *path, bool gzip, struct err *err)
{
	struct writer_thread *thread = calloc(1, sizeof(*thread));
	int result;

	if (!thread)
		return err_set(err, -ENOMEM, "can't write %s: out of memory", path);
	result = output_create(path, gzip ? OUTPUT_GZIP : OUTPUT_PLAIN, &thread->output, err);
	if (result < 0) {
		free(thread);
		return result;
	}
	result = writer_start(thread);
	if (result < 0) {
		writer_free(thread);
		return err_errno(err, result, "can't start a thread to write %s", path);
	}
	*writer = (struct writer){.path = path, .thread = thread};
	return 0;
}

int writer_flush_now(struct writer *writer, struct err *err)
{
	struct writer_thread *thread = writer->thread;
	struct text empty;
	int result;

	if (writer->text.failed)
		return err_set(err, -ENOMEM, "can't write %s: out of memory", writer->path);
	if (!writer->text.length)
		return 0;
	pthread_mutex_lock(&thread->lock);
	while (thread->busy)
		pthread_cond_wait(&thread->changed, &thread->lock);
	result = thread->result;
	if (result == 0) {
		empty = thread->chunk;
		thread->chunk = writer->text;
		writer->text = empty;
		thread->busy = true;
		pthread_cond_signal(&thread->changed);
	}
	pthread_mutex_unlock(&thread->lock);
	text_clear(&writer->text);
	return result < 0 ? err_errno(err, result, "can't write %s", writer->path) : 0;
}

/* Known only now: a compressed file has no size before its end. 0 for what is no plain file. */
static u64 writer_file_size_bytes(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) ? (u64)status.st_size : 0;
}

/* The failure of a chunk that nobody flushed after is kept by output_write() and told by
 * output_commit(). */
int writer_finish(struct writer *writer, bool commit, u64 *ret_size_bytes, struct err *err)
{
	struct writer_thread *thread = writer->thread;
	int result = commit ? writer_flush_now(writer, err) : 0;

	text_free(&writer->text);
	writer_stop(thread);
	if (commit && result == 0)
		result = output_commit(take_pointer(&thread->output), err);
	writer_free(thread);
	if (commit && result == 0 && ret_size_bytes)
		*ret_size_bytes = writer_file_size_bytes(writer->path);
	return result;
}
