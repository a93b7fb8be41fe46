/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a page fault and a pair of mmap and munmap cost: for each line "measure" the best of some rounds, in ns, of faults
 * and of pairs.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE   4096UL
#define PAGES  4000UL
#define PAIRS  4000UL
#define ROUNDS 5

static double nanoseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

static char *map(unsigned long pages)
{
	return mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static double faults(void)
{
	char *room = map(PAGES);
	double start = nanoseconds(), took;

	for (unsigned long i = 0; i < PAGES; i++)
		((volatile char *)room)[i * PAGE] = 1;
	took = nanoseconds() - start;
	munmap(room, PAGES * PAGE);
	return took / PAGES;
}

static double pairs(void)
{
	double start = nanoseconds();

	for (unsigned long i = 0; i < PAIRS; i++)
		munmap(map(1), PAGE);
	return (nanoseconds() - start) / PAIRS;
}

static double best(double (*measure)(void))
{
	double least = 1e12;

	for (int i = 0; i < ROUNDS; i++) {
		double one = measure();

		least = one < least ? one : least;
	}
	return least;
}

int main(void)
{
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		printf("%.0f %.0f\n", best(faults), best(pairs));
		fflush(stdout);
	}
	return 0;
}
