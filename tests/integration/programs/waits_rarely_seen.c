/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits that few programs have: for a completion of an io_uring, by its descriptor and by its registered number, and for a mutex
 * with priority inheritance that another thread has for good.
 *
 *	waits_rarely_seen	prints "ring N" ("ring 0": there is none here), "holder TID", then "ready"; ends when its standard input does
 */
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHORT_US	 50000
#define NOBODY_COMPLETES 1

static pthread_mutex_t mutex;
static pthread_barrier_t barrier;
static int ring;

static void *wait_at_ring(void *data)
{
	(void)data;
	for (;;)
		syscall(SYS_io_uring_enter, ring, 0, NOBODY_COMPLETES, IORING_ENTER_GETEVENTS, NULL,
			0);
}

/* The kernel knows the ring by a number of this thread then. */
static void *wait_at_registered_ring(void *data)
{
	struct io_uring_rsrc_update update = {.offset = -1U, .data = (unsigned)ring};

	(void)data;
	if (syscall(SYS_io_uring_register, ring, IORING_REGISTER_RING_FDS, &update, 1) != 1)
		return NULL;
	for (;;)
		syscall(SYS_io_uring_enter, update.offset, 0, NOBODY_COMPLETES,
			IORING_ENTER_GETEVENTS | IORING_ENTER_REGISTERED_RING, NULL, 0);
}

static void *have_mutex(void *data)
{
	(void)data;
	pthread_mutex_lock(&mutex);
	printf("holder %ld\n", (long)syscall(SYS_gettid));
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
}

static void *wait_for_mutex(void *data)
{
	(void)data;
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(&mutex);
	return NULL;
}

static void begin(void *(*function)(void *))
{
	pthread_t thread;

	pthread_create(&thread, NULL, function, NULL);
}

int main(void)
{
	struct io_uring_params parameters = {0};
	pthread_mutexattr_t inherits;
	char byte;

	ring = (int)syscall(SYS_io_uring_setup, 4, &parameters);
	printf("ring %d\n", ring < 0 ? 0 : ring);
	pthread_mutexattr_init(&inherits);
	pthread_mutexattr_setprotocol(&inherits, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&mutex, &inherits);
	pthread_barrier_init(&barrier, NULL, 3);
	begin(have_mutex);
	begin(wait_for_mutex);
	pthread_barrier_wait(&barrier);
	if (ring >= 0) {
		begin(wait_at_ring);
		begin(wait_at_registered_ring);
	}
	usleep(SHORT_US);
	puts("ready");
	fflush(stdout);
	(void)!read(STDIN_FILENO, &byte, 1);
	return 0;
}
