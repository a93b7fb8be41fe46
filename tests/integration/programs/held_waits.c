/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes the page of a function that is probed writable again and again, which makes the thread wait; meanwhile other threads wait in calls
 * that any signal or stop would end (epoll_wait, semtimedop, a socket with a time limit). A turn says how often these came back.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "protocol.h"

#define CHANGES 3
#define NEVER_S 100000

int f0(void), f1(void), f2(void);
#define FUNCTION(name)                                                    \
	".balign 8192\n.globl " name "\n.type " name ", @function\n" name \
	": push %rbx\nmovl $1, %eax\npop %rbx\nret\n.size " name ", . - " name "\n"
__asm__(".text\n" FUNCTION("f0") FUNCTION("f1") FUNCTION("f2") ".balign 4096\n");
static int (*const functions[CHANGES])(void) = {f0, f1, f2};

static atomic_ulong woken;

static void *wait_epoll(void *data)
{
	int fd = epoll_create1(0);
	struct epoll_event event;

	(void)data;
	for (;;) {
		epoll_wait(fd, &event, 1, NEVER_S * 1000);
		woken++;
	}
	return NULL;
}

static void *wait_semaphore(void *data)
{
	int set = semget(IPC_PRIVATE, 1, 0600);
	struct sembuf down = {0, -1, 0};
	struct timespec limit = {NEVER_S, 0};

	*(int *)data = set;
	for (;;) {
		semtimedop(set, &down, 1, &limit);
		woken++;
	}
	return NULL;
}

static void *wait_socket(void *data)
{
	struct timeval limit = {NEVER_S, 0};
	int ends[2];
	char byte;

	(void)data;
	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	for (;;) {
		recv(ends[0], &byte, 1, 0);
		woken++;
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[3];
	int turn = 0, set = -1;

	pthread_create(&threads[0], NULL, wait_epoll, NULL);
	pthread_create(&threads[1], NULL, wait_semaphore, &set);
	pthread_create(&threads[2], NULL, wait_socket, NULL);
	protocol_begin();
	do {
		unsigned long wrong = 0;

		if (turn > 0 && turn <= CHANGES) {
			void *page = (void *)functions[turn - 1];

			if (mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC))
				return 2;
			wrong += *(volatile uint8_t *)page != 0x53;
			if (mprotect(page, 4096, PROT_READ | PROT_EXEC))
				return 2;
		}
		for (int i = 0; i < CHANGES; i++)
			wrong += functions[i]() != 1;
		protocol_count("wrong", wrong);
		protocol_count("woken", woken);
		protocol_done();
		turn++;
	} while (protocol_next());
	semctl(set, 0, IPC_RMID);
	return 0;
}
