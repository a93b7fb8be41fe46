/*
 * Calls a function as fast as it can, or at a given rate, from some threads for some seconds, and
 *prints how often: the truth that a capture is compared with. Waits for a line on its standard
 *input before it begins.
 *
 *	hammer THREADS SECONDS CALLS_PER_SECOND(0: as fast as it can)
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BURST 16 /* calls between two looks at the clock */

static atomic_ulong total;
static double seconds, rate;
static volatile int sink;

__attribute__((noinline, noclone, used)) void hammered(void)
{
	sink++;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

static void *hammer(void *argument)
{
	double start = now(), elapsed = 0;
	unsigned long calls = 0;

	(void)argument;
	while (elapsed < seconds) {
		if (rate == 0 || calls < rate * elapsed)
			for (int i = 0; i < BURST; i++, calls++)
				hammered();
		elapsed = now() - start;
	}
	atomic_fetch_add(&total, calls);
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	pthread_t ids[64];
	char line[64];

	seconds = argc > 2 ? atof(argv[2]) : 10;
	rate = argc > 3 ? atof(argv[3]) / threads : 0;
	printf("ready\n");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (int i = 0; i < threads && i < 64; i++)
		pthread_create(&ids[i], NULL, hammer, NULL);
	for (int i = 0; i < threads && i < 64; i++)
		pthread_join(ids[i], NULL);
	printf("hammered %lu\ndone\n", (unsigned long)total);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}
