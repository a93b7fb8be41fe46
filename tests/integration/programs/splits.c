/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that spend CPU time in two functions, 70 parts in the one and 30 in the other, by their own clocks; the second thread for half as
 * long as the first one. Spells are longer than ten samples at 99 Hz, and of lengths that follow no period. Arguments: hundredths of a second
 * that the first one spends; how many threads sleep beside them.
 */
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#include "protocol.h"

#define WORKERS	      2
#define NS_A_SECOND   1000000000ULL
#define SPELL_MEAN_NS 300000000ULL /* of both functions */

static int go[2]; /* a pipe: all sleep until its other end is closed */

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NS_A_SECOND + (uint64_t)now.tv_nsec;
}

PROBED void work(uint64_t end_ns)
{
	while (cpu_ns() < end_ns)
		for (unsigned i = 0; i < 200000; i++)
			__asm__ volatile("" : "+r"(i));
}

PROBED void seventy(uint64_t end_ns)
{
	work(end_ns);
	__asm__ volatile("");
}

PROBED void thirty(uint64_t end_ns)
{
	work(end_ns);
	__asm__ volatile("");
}

PROBED void divides(uint64_t ns)
{
	uint64_t begin_ns = cpu_ns(), spent_ns = 0;
	unsigned random = 1;

	while (spent_ns < ns) {
		uint64_t spell_ns;

		random = random * 1103515245 + 12345;
		spell_ns = SPELL_MEAN_NS * (75 + (random >> 16) % 51) / 100;
		if (spell_ns > ns - spent_ns)
			spell_ns = ns - spent_ns;
		seventy(begin_ns + spent_ns + spell_ns * 7 / 10);
		thirty(begin_ns + spent_ns + spell_ns);
		spent_ns += spell_ns;
	}
}

struct thread {
	pthread_t thread;
	uint64_t ns, cpu_ns;
	pid_t tid;
};

static void wait_until_all_go(void)
{
	char byte;

	if (read(go[0], &byte, 1))
		exit(2);
}

static void *divide(void *data)
{
	struct thread *thread = data;

	thread->tid = (pid_t)syscall(SYS_gettid);
	wait_until_all_go();
	divides(thread->ns);
	thread->cpu_ns = cpu_ns();
	return NULL;
}

static void *rest(void *data)
{
	(void)data;
	wait_until_all_go();
	return NULL;
}

int main(int argc, char **argv)
{
	struct thread threads[WORKERS] = {{0}};
	unsigned resting = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	pthread_attr_t small;
	pthread_t other;

	if (pipe(go))
		return 2;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
	for (unsigned i = 0; i < resting; i++)
		if (pthread_create(&other, &small, rest, NULL))
			return 2;
	for (unsigned i = 0; i < WORKERS; i++) {
		threads[i].ns = (argc > 1 ? strtoull(argv[1], NULL, 10) : 100) *
				(NS_A_SECOND / 100) / (i + 1);
		pthread_create(&threads[i].thread, NULL, divide, &threads[i]);
	}
	protocol_begin();
	close(go[1]);
	for (unsigned i = 0; i < WORKERS; i++) {
		char name[32];

		pthread_join(threads[i].thread, NULL);
		snprintf(name, sizeof(name), "worker.%u.tid", i);
		protocol_count(name, (unsigned long)threads[i].tid);
		snprintf(name, sizeof(name), "worker.%u.cpu_ns", i);
		protocol_count(name, threads[i].cpu_ns);
	}
	protocol_end();
	return 0;
}
