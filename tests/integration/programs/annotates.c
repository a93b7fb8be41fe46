/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that annotates itself (gpuprobe.h), as C and as C++. Prints how often it did what.
 *
 *	annotates bench		for each line that is a number, the ps of an eighth of a turn of loops that turn so often: without
 *				and with eight ranges with values, ranges, marks, counters in a turn; the best of 20
 */
#include "../../../gpu/annotate/gpuprobe.h"

#include <string.h>
#include <time.h>

#include "protocol.h"

#define STEPS 20

static int evaluated;

static const char *phase(void)
{
	evaluated++;
	return "warm up";
}

/* Its values lie below sp: what writes there is seen. */
static __attribute__((noinline)) unsigned long leaf(unsigned long seed)
{
	unsigned long values[12], sum = 0;

	for (int i = 0; i < 12; i++)
		((volatile unsigned long *)values)[i] = seed * (i + 1);
	gpuprobe_mark("leaf");
	for (int i = 0; i < 12; i++)
		sum += ((volatile unsigned long *)values)[i];
	return sum;
}

static void scoped(void)
{
	GPUPROBE_RANGE("scoped");
	gpuprobe_counter("below zero", -5);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* All loops do the same, but for what they say of it: eight times each turn, so that it isn't hidden by what a processor
 * does at the same time. */
#define SAID 8
#define LOOP(name, say)                                                          \
	static __attribute__((noinline)) unsigned long name(unsigned long count) \
	{                                                                        \
		unsigned long sum = 0;                                           \
                                                                                 \
		for (unsigned long i = 0; i < count; i++) {                      \
			say say say say say say say say sum += i * i;            \
			__asm__ volatile("" : "+r"(sum));                        \
		}                                                                \
		return sum;                                                      \
	}
LOOP(bare, )
LOOP(annotated, gpuprobe_push_args("iteration", "i=%lu", i); gpuprobe_pop();)
LOOP(with_range, gpuprobe_push("iteration"); gpuprobe_pop();)
LOOP(with_mark, gpuprobe_mark("iteration");)
LOOP(with_counter, gpuprobe_counter("iteration", i);)

#define ROUNDS 20
#define LOOPS  5

static int bench(void)
{
	unsigned long (*const loops[LOOPS])(unsigned long) = {bare, annotated, with_range,
							      with_mark, with_counter};
	double best[LOOPS];
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		unsigned long count = strtoul(line, NULL, 10), sum = bare(count);

		for (int i = 0; i < LOOPS * ROUNDS; i++) {
			int loop = i % LOOPS;
			double start = seconds(), spent;

			if (loops[loop](count) != sum)
				return 1;
			spent = seconds() - start;
			if (i < LOOPS || spent < best[loop])
				best[loop] = spent;
		}
		for (int loop = 0; loop < LOOPS; loop++)
			printf("%.0f%c", best[loop] / count / SAID * 1e12,
			       loop < LOOPS - 1 ? ' ' : '\n');
		fflush(stdout);
	}
	return 0;
}

int main(int count, char **words)
{
	unsigned long wrong = 0;

	if (count == 2 && !strcmp(words[1], "bench"))
		return bench();
	protocol_begin();
	for (int i = 0; i < STEPS; i++) {
		gpuprobe_push_args("step", "step=%d phase=%s", i, phase());
		gpuprobe_push("inner");
		gpuprobe_mark_args("here", "step=%d", i);
		gpuprobe_pop();
		gpuprobe_pop();
		gpuprobe_counter("loss", 100 - i);
		scoped();
		wrong += leaf(i + 1) != 78UL * (i + 1);
	}
	protocol_count("steps", STEPS);
	protocol_count("evaluated", evaluated);
	protocol_count("wrong", wrong);
	protocol_end();
	return 0;
}
