/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Its realloc(), which libc (2.34) calls with the loader's lock of thread-local storage when a thread gets a stack that was used before
 * there were so many libraries, waits for a lock that it gets after a while. Then another thread, which it makes, loads a library, for which it takes
 * that lock; it is one that the first thread could take twice.
 *
 *	waits_in_realloc MILLISECONDS LIBRARY...		each with a variable of each thread's own
 */
#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "protocol.h"

extern void *__libc_realloc(void *memory, size_t size);

static volatile int sleeping;
/* Of two processes: has it been called, and may it go on? */
static volatile struct shared {
	int waits, goes_on;
} * shared;

void *realloc(void *memory, size_t size)
{
	if (sleeping) {
		shared->waits++;
		while (!shared->goes_on)
			syscall(SYS_futex, &shared->goes_on, FUTEX_WAIT, 0, NULL, NULL, 0);
	}
	return __libc_realloc(memory, size);
}

static void let_go_on(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!shared->waits)
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	nanosleep(&(struct timespec){2, 0}, NULL);
	shared->goes_on = 1;
	syscall(SYS_futex, &shared->goes_on, FUTEX_WAKE, 1, NULL, NULL, 0);
	_exit(0);
}

static void *load(void *library)
{
	return library ? dlopen(library, RTLD_NOW) : NULL;
}

/* Which loads the library, if there is one. */
static bool thread_make(char *library)
{
	pthread_t thread;
	void *result = NULL;

	return !pthread_create(&thread, NULL, load, library) && !pthread_join(thread, &result) &&
	       (!library || result);
}

int main(int argc, char **argv)
{
	long ns = argc > 1 ? atol(argv[1]) * 1000000 : 0;
	struct timespec time = {ns / 1000000000, ns % 1000000000};
	int result;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED || !thread_make(NULL))
		return 1;
	if (!fork())
		let_go_on();
	for (int i = 2; i < argc - 1; i++)
		if (!dlopen(argv[i], RTLD_NOW))
			return 1;
	printf("ready\n");
	fflush(stdout);
	sleeping = 1;
	result = nanosleep(&time, NULL);
	sleeping = 0;
	if (!thread_make(argv[argc - 1]))
		return 1;
	printf("%d 0 %d\n", result, shared->waits);
	protocol_end();
	return 0;
}
