/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that computes, to see what recording it costs. Reads commands, a line each, and answers each with the
 * nanoseconds of CPU time that one call of work() took:
 *
 *	calls COUNT	work() and nothing else
 *	heap COUNT	each call allocates and frees, too
 *	waits COUNT	each call is made by one of two threads in turns, which wait for each other
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STEPS 1000

static volatile unsigned long sink;
static void *volatile block;
static int to_other[2], from_other[2];

/* Some microseconds. */
__attribute__((noinline, noclone)) void work(void)
{
	unsigned long value = sink;

	__asm__ volatile("" ::: "rbx");
	for (int i = 0; i < STEPS; i++)
		value = value * 6364136223846793005UL + 1442695040888963407UL;
	sink = value;
}

static void allocate(void)
{
	block = malloc(100);
	work();
	free(block);
}

static void *answer(void *argument)
{
	char ball;

	while (read(to_other[0], &ball, 1) == 1 && write(from_other[1], &ball, 1) == 1)
		;
	return argument;
}

static void take_turns(void)
{
	char ball = 0;

	work();
	if (write(to_other[1], &ball, 1) != 1 || read(from_other[0], &ball, 1) != 1)
		exit(1);
}

static double cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

int main(void)
{
	static const struct {
		const char *name;
		void (*once)(void);
	} commands[] = {{"calls", work}, {"heap", allocate}, {"waits", take_turns}};
	char line[64], name[16];
	unsigned long count;
	pthread_t other;

	if (pipe(to_other) || pipe(from_other) || pthread_create(&other, NULL, answer, NULL))
		return 1;
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%15s %lu", name, &count) != 2 || !count)
			return 1;
		for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
			double start = cpu_ns();

			if (strcmp(name, commands[i].name) != 0)
				continue;
			for (unsigned long call = 0; call < count; call++)
				commands[i].once();
			printf("%.1f\n", (cpu_ns() - start) / count);
			fflush(stdout);
		}
	}
	return 0;
}
