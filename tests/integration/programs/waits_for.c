/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that wait for what is known exactly, each ROUNDS times, while another one lets them wait: a pipe, both ends of a TCP
 * connection, a named UNIX socket, an eventfd in an epoll, a terminal-less poll of a listening socket, a mutex that a thread has.
 * Descriptor TWICE is a pipe first, then the connection. Nobody is woken before the kernel says that he waits, so each round is a
 * wait on a busy machine too.
 *
 *	waits_for SOCKET	SOCKET: path of the UNIX socket. Prints the port, the descriptors and the thread that has the mutex;
 *				reads a line, does the rounds, prints "done", reads another one.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define ROUNDS 10
#define TWICE  200
/* A profiler that is told of a descriptor looks at it: on a busy machine it takes that long until it is its turn. */
#define LOOKED_AT_MS 300

enum { PIPE, TCP, UNIX, EPOLL, POLL, SORTS };

static const long calls[SORTS] = {SYS_read, SYS_read, SYS_read, SYS_epoll_wait, SYS_poll};
static int waits_at[SORTS], wakes_by[SORTS];
static _Atomic(pid_t) waiters[SORTS], twice_waiter, mutex_waiter;
static int event, listening;
static struct pollfd polled;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static struct sockaddr_in address = {.sin_family = AF_INET};

static void pause_ms(int ms)
{
	usleep(1000 * ms);
}

static pid_t own_tid(void)
{
	return syscall(SYS_gettid);
}

/* Until that thread is in the call, on what its first argument says: a descriptor or an address. */
static void until_waits(_Atomic(pid_t) *tid, long call, uintptr_t argument)
{
	char path[64];
	unsigned long first;
	long number;

	for (;; pause_ms(1)) {
		FILE *file;
		int got = 0;

		snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", atomic_load(tid));
		file = fopen(path, "re");
		if (file) {
			got = fscanf(file, "%ld %lx", &number, &first);
			fclose(file);
		}
		if (got == 2 && number == call && first == argument)
			break;
	}
	pause_ms(2);
}

static void *wait_for(void *data)
{
	int sort = (int)(intptr_t)data;
	struct epoll_event ready;
	uint64_t count;
	char byte;

	waiters[sort] = own_tid();
	for (int i = 0; i < ROUNDS; i++) {
		if (sort == EPOLL) {
			epoll_wait(waits_at[sort], &ready, 1, -1);
			(void)!read(event, &count, sizeof(count));
		} else if (sort == POLL) {
			polled = (struct pollfd){waits_at[sort], POLLIN, 0};
			poll(&polled, 1, -1);
			close(accept(listening, NULL, NULL));
		} else {
			(void)!read(waits_at[sort], &byte, 1);
		}
	}
	return NULL;
}

static void *wait_for_mutex(void *data)
{
	(void)data;
	mutex_waiter = own_tid();
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&barrier);
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void *have_mutex(void *data)
{
	printf("holder %ld\n", (long)own_tid());
	fflush(stdout);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		pthread_barrier_wait(&barrier);
		until_waits(&mutex_waiter, SYS_futex, (uintptr_t)&mutex);
		pthread_mutex_unlock(&mutex);
		pthread_barrier_wait(&barrier);
	}
	return data;
}

static void wake(int sort)
{
	static const uint64_t one = 1;

	if (sort == EPOLL) {
		(void)!write(event, &one, sizeof(one));
	} else if (sort == POLL) {
		int client = socket(AF_INET, SOCK_STREAM, 0);

		(void)!connect(client, (void *)&address, sizeof(address));
		close(client);
	} else {
		(void)!write(wakes_by[sort], "x", 1);
	}
}

static void open_all(const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	socklen_t size = sizeof(address);
	int ends[2], server = socket(AF_INET, SOCK_STREAM, 0),
		     named = socket(AF_UNIX, SOCK_STREAM, 0);
	struct epoll_event wanted = {.events = EPOLLIN};

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	bind(server, (void *)&address, sizeof(address));
	listen(server, 8);
	getsockname(server, (void *)&address, &size);
	wakes_by[TCP] = socket(AF_INET, SOCK_STREAM, 0);
	(void)!connect(wakes_by[TCP], (void *)&address, sizeof(address));
	waits_at[TCP] = accept(server, NULL, NULL);
	waits_at[POLL] = listening = server;

	snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	bind(named, (void *)&name, sizeof(name));
	listen(named, 8);
	wakes_by[UNIX] = socket(AF_UNIX, SOCK_STREAM, 0);
	(void)!connect(wakes_by[UNIX], (void *)&name, sizeof(name));
	waits_at[UNIX] = accept(named, NULL, NULL);

	(void)!pipe(ends);
	waits_at[PIPE] = ends[0];
	wakes_by[PIPE] = ends[1];
	event = eventfd(0, 0);
	waits_at[EPOLL] = epoll_create1(0);
	epoll_ctl(waits_at[EPOLL], EPOLL_CTL_ADD, event, &wanted);
}

/* The same descriptor, and what it is changes. */
static void *wait_twice(void *data)
{
	char byte;

	twice_waiter = own_tid();
	(void)!read(TWICE, &byte, 1);
	dup2(*(int *)data, TWICE);
	(void)!read(TWICE, &byte, 1);
	return NULL;
}

static void go(void)
{
	pthread_t threads[SORTS], twice;

	dup2(waits_at[PIPE], TWICE);
	pthread_create(&twice, NULL, wait_twice, &waits_at[TCP]);
	until_waits(&twice_waiter, SYS_read, TWICE);
	pause_ms(LOOKED_AT_MS);
	wake(PIPE);
	pause_ms(LOOKED_AT_MS);
	until_waits(&twice_waiter, SYS_read, TWICE);
	wake(TCP);
	pthread_join(twice, NULL);
	for (int sort = 0; sort < SORTS; sort++)
		pthread_create(&threads[sort], NULL, wait_for, (void *)(intptr_t)sort);
	for (int i = 0; i < ROUNDS; i++) {
		for (int sort = 0; sort < SORTS; sort++) {
			until_waits(&waiters[sort], calls[sort],
				    sort == POLL ? (uintptr_t)&polled : (uintptr_t)waits_at[sort]);
			wake(sort);
		}
	}
	for (int sort = 0; sort < SORTS; sort++)
		pthread_join(threads[sort], NULL);
}

int main(int argc, char **argv)
{
	pthread_t holder, waiter;
	char line[16];

	if (argc < 2)
		return 2;
	pthread_barrier_init(&barrier, NULL, 2);
	open_all(argv[1]);
	printf("port %u\n", ntohs(address.sin_port));
	pthread_create(&holder, NULL, have_mutex, NULL);
	if (fgets(line, sizeof(line), stdin)) {
		go();
		pthread_barrier_wait(&barrier);
		pthread_create(&waiter, NULL, wait_for_mutex, NULL);
		pthread_join(holder, NULL);
		pthread_join(waiter, NULL);
		puts("done");
		fflush(stdout);
		(void)!fgets(line, sizeof(line), stdin);
	}
	return 0;
}
