/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that wait, each in a system call of its own, and what they know of it: for each call when it began and ended
 * (CLOCK_MONOTONIC) and which thread it was. The main thread wakes those that wait for somebody, once they are asleep.
 *
 *	waits COUNT	so many threads one after the other instead, each of which sleeps once
 */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "protocol.h"

#define ROUNDS 40

static int pipe_fds[2], never_fds[2];
static sem_t semaphore;
static unsigned long checksum;

static void wait_in_read(void)
{
	char byte;

	checksum += read(pipe_fds[0], &byte, 1);
}

static void wake_read(void)
{
	checksum += write(pipe_fds[1], "x", 1);
}

static void wait_in_futex(void)
{
	sem_wait(&semaphore);
}

static void wake_futex(void)
{
	sem_post(&semaphore);
}

static void wait_in_nanosleep(void)
{
	struct timespec time = {.tv_nsec = 2000000};

	nanosleep(&time, NULL);
}

static void wait_in_poll(void)
{
	struct pollfd fd = {.fd = never_fds[0], .events = POLLIN};

	poll(&fd, 1, 3);
}

/* A timer of the program's, but not that of its wait. */
static void wait_in_epoll_wait(void)
{
	struct itimerspec time = {.it_value.tv_nsec = 2000000};
	struct epoll_event event = {.events = EPOLLIN};
	int timer = timerfd_create(CLOCK_MONOTONIC, 0), epoll = epoll_create1(0);

	epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event);
	timerfd_settime(timer, 0, &time, NULL);
	checksum += epoll_wait(epoll, &event, 1, 60000);
	close(epoll);
	close(timer);
}

static struct waiter {
	const char *name;
	void (*wait)(void);
	void (*wake)(void); /* NULL: it wakes by itself */
	long system_call;   /* in which it is woken */
	pthread_t thread;
	volatile int tid;
	volatile int round;
	struct timespec begin[ROUNDS], end[ROUNDS];
} waiters[] = {
	{.name = "read", .wait = wait_in_read, .wake = wake_read, .system_call = SYS_read},
	{.name = "futex", .wait = wait_in_futex, .wake = wake_futex, .system_call = SYS_futex},
	{.name = "clock_nanosleep", .wait = wait_in_nanosleep},
	{.name = "poll", .wait = wait_in_poll},
	{.name = "epoll_wait", .wait = wait_in_epoll_wait},
};

#define WAITERS (sizeof(waiters) / sizeof(waiters[0]))

static void *waiter_main(void *argument)
{
	struct waiter *waiter = argument;

	waiter->tid = syscall(SYS_gettid);
	for (int i = 0; i < ROUNDS; i++) {
		clock_gettime(CLOCK_MONOTONIC, &waiter->begin[i]);
		waiter->round = i + 1;
		waiter->wait();
		clock_gettime(CLOCK_MONOTONIC, &waiter->end[i]);
	}
	return NULL;
}

/* In its n-th wait, and no more on its way there: this file tells the system call of a thread only when it is off its
 * CPU. */
static bool is_asleep(const struct waiter *waiter, int round)
{
	char path[64];
	long number = -1;
	FILE *file;

	if (waiter->round != round)
		return false;
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", waiter->tid);
	file = fopen(path, "r");
	if (!file)
		abort();
	if (fscanf(file, "%ld", &number) != 1)
		number = -1;
	fclose(file);
	return number == waiter->system_call;
}

static void wake_all(void)
{
	struct timespec moment = {.tv_nsec = 200000};

	for (int round = 1; round <= ROUNDS; round++)
		for (size_t i = 0; i < WAITERS; i++) {
			if (!waiters[i].wake)
				continue;
			while (!is_asleep(&waiters[i], round))
				nanosleep(&moment, NULL);
			waiters[i].wake();
		}
}

static unsigned long nanoseconds(struct timespec time)
{
	return time.tv_sec * 1000000000UL + time.tv_nsec;
}

static void print(const struct waiter *waiter)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.tid", waiter->name);
	protocol_count(name, waiter->tid);
	for (int i = 0; i < ROUNDS; i++) {
		snprintf(name, sizeof(name), "%s.%d.begin", waiter->name, i);
		protocol_count(name, nanoseconds(waiter->begin[i]));
		snprintf(name, sizeof(name), "%s.%d.end", waiter->name, i);
		protocol_count(name, nanoseconds(waiter->end[i]));
	}
}

static void *wait_always(void *tid)
{
	*(volatile int *)tid = syscall(SYS_gettid);
	pause();
	return NULL;
}

static void *sleep_once(void *unused)
{
	usleep(10);
	return NULL;
}

static int one_after_the_other(int count)
{
	pthread_t thread;

	protocol_begin();
	for (int i = 0; i < count; i++) {
		if (pthread_create(&thread, NULL, sleep_once, NULL))
			return 1;
		pthread_join(thread, NULL);
	}
	protocol_done();
	while (protocol_next())
		;
	return 0;
}

int main(int count, char **words)
{
	volatile int always_tid = 0;
	pthread_t always;

	if (count > 1)
		return one_after_the_other(atoi(words[1]));
	if (pipe(pipe_fds) || pipe(never_fds) || sem_init(&semaphore, 0, 0) ||
	    pthread_create(&always, NULL, wait_always, (void *)&always_tid))
		return 1;
	while (!always_tid)
		usleep(1000);
	protocol_begin();
	for (size_t i = 0; i < WAITERS; i++)
		if (pthread_create(&waiters[i].thread, NULL, waiter_main, &waiters[i]))
			return 1;
	wake_all();
	for (size_t i = 0; i < WAITERS; i++) {
		pthread_join(waiters[i].thread, NULL);
		print(&waiters[i]);
	}
	protocol_count("rounds", ROUNDS);
	protocol_count("always.tid", always_tid);
	protocol_done();
	while (protocol_next())
		;
	return 0;
}
