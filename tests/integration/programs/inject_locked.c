/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that nobody may borrow, and one that anybody may, by their names. At the end of input it ends. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <link.h>
#include <sys/prctl.h>
#include <unistd.h>

static __thread bool waits_in_malloc;
static int pipe_fds[2];

static void wait_here(void)
{
	char byte;

	while (read(pipe_fds[0], &byte, 1) < 0)
		;
}

void *__libc_malloc(size_t size);

/* An allocator of the program's own, as jemalloc is. */
void *malloc(size_t size)
{
	if (waits_in_malloc)
		wait_here();
	return __libc_malloc(size);
}

static void *in_malloc(void *data)
{
	prctl(PR_SET_NAME, "in_malloc");
	waits_in_malloc = true;
	return malloc(10);
}

static void handler(int signal_number)
{
	wait_here();
}

static void *in_handler(void *data)
{
	prctl(PR_SET_NAME, "in_handler");
	pthread_kill(pthread_self(), SIGUSR1);
	return NULL;
}

static int visit(struct dl_phdr_info *info, size_t size, void *data)
{
	wait_here();
	return 1;
}

static void *in_loader(void *data)
{
	prctl(PR_SET_NAME, "in_loader");
	dl_iterate_phdr(visit, NULL);
	return NULL;
}

static void *waits(void *data)
{
	prctl(PR_SET_NAME, "waits");
	wait_here();
	return NULL;
}

int main(void)
{
	static void *(*const all[])(void *) = {in_malloc, in_handler, waits};
	pthread_t thread;
	char byte;

	if (pipe(pipe_fds))
		return 2;
	signal(SIGUSR1, handler);
	for (unsigned i = 0; i < 3; i++)
		pthread_create(&thread, NULL, all[i], NULL);
	/* The last: no thread can be made while it is there. */
	pthread_create(&thread, NULL, in_loader, NULL);
	printf("ready\n");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
