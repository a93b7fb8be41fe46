/*
 * A program that annotates itself (gpuprobe.h), as C and as C++. Prints how often it did what.
 *
 *	annotates bench COUNT	nanoseconds of a loop without and with annotations that nobody listens to
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

static __attribute__((noinline)) unsigned long bare(unsigned long count)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < count; i++) {
		sum += i * i;
		__asm__ volatile("" : "+r"(sum));
	}
	return sum;
}

static __attribute__((noinline)) unsigned long annotated(unsigned long count)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < count; i++) {
		gpuprobe_push_args("iteration", "i=%lu", i);
		sum += i * i;
		__asm__ volatile("" : "+r"(sum));
		gpuprobe_pop();
	}
	return sum;
}

static int bench(unsigned long count)
{
	double best_bare = 1e9, best_annotated = 1e9;

	for (int round = 0; round < 20; round++) {
		double start = seconds(), middle;
		unsigned long sum = bare(count);

		middle = seconds();
		if (annotated(count) != sum)
			return 1;
		best_annotated =
			seconds() - middle < best_annotated ? seconds() - middle : best_annotated;
		best_bare = middle - start < best_bare ? middle - start : best_bare;
	}
	printf("bare_ps %.0f\nannotated_ps %.0f\n", best_bare / count * 1e12,
	       best_annotated / count * 1e12);
	return 0;
}

int main(int count, char **words)
{
	unsigned long wrong = 0;

	if (count == 3 && !strcmp(words[1], "bench"))
		return bench(strtoul(words[2], NULL, 10));
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
