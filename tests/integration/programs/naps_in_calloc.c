/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Its calloc(), which libc calls to make a thread, sleeps for a moment, as those do that wait for a lock of their own; with a second
 * argument it waits for a lock that it does not get, for half a minute. Its only thread
 * sleeps for as many milliseconds as its argument says, tells how that ended, and waits for the end of its input.
 */
#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "protocol.h"

static volatile int sleeping, naps;
static bool locks;

static void nap(long ns)
{
	struct timespec time = {ns / 1000000000, ns % 1000000000};

	nanosleep(&time, NULL);
}

void *calloc(size_t count, size_t size)
{
	uint8_t *memory = malloc(count * size);

	if (sleeping) {
		naps++;
		if (locks)
			syscall(SYS_futex, &naps, FUTEX_WAIT_PRIVATE, naps,
				&(struct timespec){30, 0}, NULL, 0);
		else
			nap(1000000);
	}
	return memory ? memset(memory, 0, count * size) : NULL;
}

int main(int argc, char **argv)
{
	long ns = argc > 1 ? atol(argv[1]) * 1000000 : 0;
	struct timespec time = {ns / 1000000000, ns % 1000000000};
	int result, error;

	locks = argc > 2;
	printf("ready\n");
	fflush(stdout);
	sleeping = 1;
	result = nanosleep(&time, NULL);
	error = errno;
	sleeping = 0;
	printf("%d %d %d\n", result, result ? error : 0, naps);
	protocol_end();
	return 0;
}
