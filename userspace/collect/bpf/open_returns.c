/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/bpf/open_returns.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "process/proc_file.h"
#include "process/thread_stop.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"

#define THREAD_TIMEOUT_NS (200 * NS_PER_MILLISECOND) /* until a thread has stopped */
#define ALL_TIMEOUT_NS	  (5 * NS_PER_SECOND)

struct work {
	struct bpf_source *source;
	u32 *tids;
	size_t tid_count, tid_capacity;
	struct open_returns result;
};

/* One thread, while it is stopped. */
struct thread {
	int memory_fd;
	u64 put_back_count;
	int error;
};

/* The records of a thread come together. */
static void note_thread(void *data, const void *record)
{
	const struct hijacked_return *hijacked = record;
	struct work *work = data;

	if (work->tid_count && work->tids[work->tid_count - 1] == hijacked->tid)
		return;
	if (array_reserve(&work->tids, &work->tid_capacity, work->tid_count + 1))
		work->result.left_error = -ENOMEM;
	else
		work->tids[work->tid_count++] = hijacked->tid;
}

/* A slot that holds something else is no return address any more: its call has ended. */
static void put_back(void *data, const void *record)
{
	const struct hijacked_return *hijacked = record;
	struct thread *thread = data;
	u64 held;

	if (pread(thread->memory_fd, &held, sizeof(held), (off_t)hijacked->slot) != sizeof(held) ||
	    held != hijacked->trampoline || hijacked->address == hijacked->trampoline)
		return;
	if (pwrite(thread->memory_fd, &hijacked->address, sizeof(hijacked->address),
		   (off_t)hijacked->slot) == sizeof(hijacked->address))
		thread->put_back_count++;
	else
		thread->error = -errno;
}

/* The processor compares what is put back with a shadow stack, which still holds the trampoline. */
static int refuse_shadow_stack(u32 tid)
{
	_cleanup_free_ char *status = NULL;
	char path[32];
	int result;

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	result = proc_file_read(AT_FDCWD, path, &status, NULL);
	if (result)
		return result;
	return proc_status_has_shadow_stack(status) ? -EOPNOTSUPP : 0;
}

static void put_back_stopped(struct work *work, u32 tid, struct thread *thread)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/mem", tid);
	thread->error = refuse_shadow_stack(tid);
	if (thread->error)
		return;
	thread->memory_fd = open(path, O_RDWR | O_CLOEXEC);
	if (thread->memory_fd < 0)
		thread->error = -errno;
	else
		thread->error = bpf_source_hijacked_returns(work->source, tid, put_back, thread);
	cleanup_close(&thread->memory_fd);
}

static int put_back_in(struct work *work, u32 tid)
{
	struct thread thread = {.memory_fd = -1};
	struct thread_stop stop;
	int result = thread_stop(tid, THREAD_TIMEOUT_NS, &stop);

	if (result)
		return result;
	put_back_stopped(work, tid, &thread);
	thread_go_on(&stop);
	work->result.put_back_count += thread.put_back_count;
	return thread.error;
}

/* What is read while the threads run says only which ones are to be stopped. */
static void *put_back_all(void *data)
{
	struct work *work = data;
	u64 end_ns = clock_monotonic_ns() + ALL_TIMEOUT_NS;
	int result = bpf_source_hijacked_returns(work->source, 0, note_thread, work);

	if (result)
		work->result.left_error = result;
	work->result.thread_count = work->tid_count;
	for (size_t i = 0; i < work->tid_count; i++) {
		result = clock_monotonic_ns() < end_ns ? put_back_in(work, work->tids[i])
						       : -ETIMEDOUT;
		if (!result || result == -ESRCH)
			continue;
		work->result.left_count++;
		work->result.left_error = result;
	}
	return NULL;
}

/* By a thread of its own: when it ends, whatever it could not let go goes on. */
void open_returns_put_back(struct bpf_source *source, struct open_returns *ret_result)
{
	struct work work = {.source = source};
	pthread_t thread;
	int result = pthread_create(&thread, NULL, put_back_all, &work);

	if (result)
		work.result.left_error = -result;
	else
		pthread_join(thread, NULL);
	free(work.tids);
	*ret_result = work.result;
}
