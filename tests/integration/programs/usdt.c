/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * USDT probes with arguments of all sizes, and what they were given: one line "NAME VALUE..." a hit. The provider is "truth".
 *
 *	usdt ROUNDS	pauses a millisecond between rounds
 */
#define _SDT_HAS_SEMAPHORES 1
#include <setjmp.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/sdt.h>
#include <unistd.h>

#include "protocol.h"

#define SEMAPHORE(name)                                       \
	__extension__ unsigned short truth_##name##_semaphore \
		__attribute__((section(".probes"), used))
SEMAPHORE(sizes);
SEMAPHORE(more);
SEMAPHORE(memory);
SEMAPHORE(text);
SEMAPHORE(many);
SEMAPHORE(outer__start);
SEMAPHORE(outer__done);
SEMAPHORE(inner__start);
SEMAPHORE(inner__done);
SEMAPHORE(lost__begin);
SEMAPHORE(lost__end);
SEMAPHORE(guarded);

static volatile int32_t table[4] = {-7, 1000000, 3, 4};
static volatile uint16_t global = 65000;
static volatile double fraction = 1.5;
static jmp_buf back;

PROBED void sizes(int i)
{
	int8_t s8 = (int8_t)-i;
	uint8_t u8 = (uint8_t)(i * 7);
	int16_t s16 = (int16_t)(-i * 300);
	uint16_t u16 = (uint16_t)(i * 700);
	int32_t s32 = -i * 100000;
	uint32_t u32 = 4294967295U - (unsigned)i;
	int64_t s64 = -(int64_t)i * 10000000000;
	uint64_t u64 = 18446744073709551615U - (unsigned)i;

	STAP_PROBE8(truth, sizes, s8, u8, s16, u16, s32, u32, s64, u64);
	printf("sizes %d %u %d %u %d %u %lld %llu\n", s8, u8, s16, u16, s32, u32, (long long)s64,
	       (unsigned long long)u64);
}

/* Constants and places in memory: on the stack, by an index, of a global. */
PROBED void memory(int i, const int16_t *values)
{
	volatile int32_t local = -i;

	__asm__ volatile("" : : "r"(&local), "r"(&table[i & 3]), "r"(values) : "memory");
	STAP_PROBE6(truth, memory, 42, -5, local, table[i & 3], values[i & 3], global);
	printf("memory 42 -5 %d %d %d %u\n", local, table[i & 3], values[i & 3], global);
}

/* The third of them is no number that can be read. */
PROBED void text(int i, const char *string)
{
	STAP_PROBE5(truth, text, i, string, fraction, (const char *)NULL, string + 1);
	printf("text %d %s\n", i, string);
}

PROBED void many(int i)
{
	STAP_PROBE12(truth, many, i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7, i + 8, i + 9,
		     i + 10, i + 11);
	printf("many %d\n", i);
}

PROBED void pair(int i)
{
	STAP_PROBE1(truth, outer__start, i);
	for (int j = 0; j < 3; j++) {
		STAP_PROBE2(truth, inner__start, i, j);
		STAP_PROBE1(truth, inner__done, j * 2);
	}
	STAP_PROBE1(truth, outer__done, -i);
	printf("outer %d\ninner %d\ninner %d\ninner %d\n", i, i, i, i);
}

/* Every second one is left by longjmp. */
PROBED void lose(int i)
{
	STAP_PROBE1(truth, lost__begin, i);
	if (i & 1)
		longjmp(back, 1);
	STAP_PROBE(truth, lost__end);
}

/* The same probe at a second place. */
PROBED void more(int i)
{
	if (i & 1)
		STAP_PROBE1(truth, more, i);
	else
		STAP_PROBE2(truth, more, (int64_t)i, "even");
	printf("more %d\n", i);
}

/* Only where somebody listens. */
PROBED void guarded(int i)
{
	if (truth_guarded_semaphore)
		STAP_PROBE1(truth, guarded, i);
	printf("guarded %d\n", i);
}

static void *in_thread(void *data)
{
	pair((int)(intptr_t)data);
	return NULL;
}

int main(int argc, char **argv)
{
	static const int16_t values[] = {-1, 2, -30000, 30000};
	int rounds = argc > 1 ? atoi(argv[1]) : 20;
	char string[64];

	protocol_begin();
	for (int i = 0; i < rounds; i++) {
		pthread_t thread;

		sizes(i);
		memory(i, values);
		snprintf(string, sizeof(string), "round \"%d\"", i);
		text(i, string);
		many(i);
		pair(i);
		more(i);
		guarded(i);
		if (!setjmp(back))
			lose(i);
		printf("lost %d\n", i);
		fflush(stdout);
		if (!pthread_create(&thread, NULL, in_thread, (void *)(intptr_t)(1000 + i)))
			pthread_join(thread, NULL);
		usleep(1000);
	}
	protocol_end();
	return 0;
}
