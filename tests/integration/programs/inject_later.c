/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread waits in its malloc(), which only its registers show; the first one runs, until it sees that the other was stopped,
 * and waits from then on.
 */
#include <alloca.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>

#include "protocol.h"

static int pipe_fds[2];
static volatile int waiter_tid;

/* Its frame is found by a register, which the kernel does not tell of a thread that runs on. */
static __attribute__((noinline)) long wait_here(size_t bytes)
{
	volatile char *area = alloca(bytes);
	long result;

	do {
		asm volatile("syscall"
			     : "=a"(result)
			     : "0"((long)SYS_read), "D"((long)pipe_fds[0]), "S"(area), "d"(1L)
			     : "rcx", "r11", "memory");
	} while (result < 0);
	return result + area[0];
}

static __thread int waits_in_malloc;

void *__libc_malloc(size_t size);

void *malloc(size_t size)
{
	if (waits_in_malloc)
		waits_in_malloc = (int)wait_here(size);
	return __libc_malloc(size);
}

static void *waiter(void *data)
{
	waits_in_malloc = 1;
	waiter_tid = (int)syscall(SYS_gettid);
	free(malloc(64));
	return data;
}

static int is_traced(const char *path)
{
	char status[4096], *field;
	FILE *file = fopen(path, "r");
	size_t size = file ? fread(status, 1, sizeof(status) - 1, file) : 0;

	if (file)
		fclose(file);
	status[size] = 0;
	field = strstr(status, "TracerPid:\t");
	return field && field[strlen("TracerPid:\t")] != '0';
}

int main(void)
{
	pthread_t thread;
	char path[64];

	if (pipe(pipe_fds) || pthread_create(&thread, NULL, waiter, NULL))
		return 1;
	while (!waiter_tid)
		;
	snprintf(path, sizeof(path), "/proc/self/task/%d/status", waiter_tid);
	printf("ready\n");
	fflush(stdout);
	while (!is_traced(path))
		;
	protocol_end();
	return 0;
}
