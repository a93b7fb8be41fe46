/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that spend CPU time in places that are known, and say how much: one in two functions, two parts of three in the first one, one in
 * the kernel, one that sleeps, and some that end soon. Argument: hundredths of a second that each thread spends.
 */
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#include "protocol.h"

#define BRIEF_THREADS 10
#define NS_A_SECOND   1000000000ULL

static uint64_t spend_ns;

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NS_A_SECOND + (uint64_t)now.tv_nsec;
}

static void spin(uint64_t ns)
{
	uint64_t end_ns = cpu_ns() + ns;

	while (cpu_ns() < end_ns)
		for (unsigned i = 0; i < 20000; i++)
			__asm__ volatile("" : "+r"(i));
}

PROBED void spends_two_thirds(uint64_t ns)
{
	spin(ns);
	__asm__ volatile("");
}

PROBED void spends_one_third(uint64_t ns)
{
	spin(ns);
	__asm__ volatile("");
}

struct thread {
	pthread_t thread;
	pid_t tid;
	uint64_t cpu_ns;
};

static void *spend_in_functions(void *data)
{
	struct thread *thread = data;

	thread->tid = (pid_t)syscall(SYS_gettid);
	for (uint64_t spent = 0; spent < spend_ns; spent += 3000000) {
		spends_two_thirds(2000000);
		spends_one_third(1000000);
	}
	thread->cpu_ns = cpu_ns();
	return NULL;
}

PROBED void spends_in_kernel(void)
{
	static char buffer[1 << 20];
	FILE *zeros = fopen("/dev/zero", "r");

	setvbuf(zeros, NULL, _IONBF, 0);
	while (cpu_ns() < spend_ns)
		if (fread(buffer, sizeof(buffer), 1, zeros) != 1)
			exit(2);
	fclose(zeros);
}

static void *spend_in_kernel(void *data)
{
	struct thread *thread = data;

	thread->tid = (pid_t)syscall(SYS_gettid);
	spends_in_kernel();
	thread->cpu_ns = cpu_ns();
	return NULL;
}

static void *spend_soon(void *data)
{
	struct thread *thread = data;

	thread->tid = (pid_t)syscall(SYS_gettid);
	spin(spend_ns / 20);
	thread->cpu_ns = cpu_ns();
	return NULL;
}

int main(int argc, char **argv)
{
	static struct thread threads[2 + BRIEF_THREADS];
	static void *(*const mains[])(void *) = {spend_in_functions, spend_in_kernel};

	spend_ns = (argc > 1 ? strtoull(argv[1], NULL, 10) : 100) * (NS_A_SECOND / 100);
	protocol_begin();
	for (unsigned i = 0; i < 2 + BRIEF_THREADS; i++) {
		pthread_create(&threads[i].thread, NULL, i < 2 ? mains[i] : spend_soon,
			       &threads[i]);
		if (i >= 2)
			pthread_join(threads[i].thread, NULL);
	}
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i].thread, NULL);
	for (unsigned i = 0; i < 2 + BRIEF_THREADS; i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s.%u.tid",
			 i == 0	  ? "functions"
			 : i == 1 ? "kernel"
				  : "brief",
			 i);
		protocol_count(name, (unsigned long)threads[i].tid);
		snprintf(name, sizeof(name), "%s.%u.cpu_ns",
			 i == 0	  ? "functions"
			 : i == 1 ? "kernel"
				  : "brief",
			 i);
		protocol_count(name, threads[i].cpu_ns);
	}
	protocol_end();
	return 0;
}
