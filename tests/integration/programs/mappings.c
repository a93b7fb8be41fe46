/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that call probed functions while others map and unmap memory without pause. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "protocol.h"

#define CALLERS 2
#define MAPPERS 4
#define CALLS	5000

static atomic_int stop;
static __thread volatile long sink;

PROBED long leaf(long value)
{
	sink += value;
	return value + 1;
}

PROBED long outer(long value)
{
	return leaf(value) + leaf(value);
}

static void *caller(void *ret_failures)
{
	for (long i = 0; i < CALLS; i++)
		*(unsigned long *)ret_failures += outer(i) != 2 * (i + 1);
	return NULL;
}

static void *mapper(void *unused)
{
	while (!atomic_load(&stop)) {
		char *memory = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		memory[0] = 1;
		munmap(memory, 1 << 16);
	}
	return NULL;
}

int main(void)
{
	unsigned long failures[CALLERS] = {0};
	pthread_t mappers[MAPPERS], callers[CALLERS];

	protocol_begin();
	for (int i = 0; i < MAPPERS; i++)
		pthread_create(&mappers[i], NULL, mapper, NULL);
	for (int i = 0; i < CALLERS; i++)
		pthread_create(&callers[i], NULL, caller, &failures[i]);
	for (int i = 0; i < CALLERS; i++)
		pthread_join(callers[i], NULL);
	atomic_store(&stop, 1);
	for (int i = 0; i < MAPPERS; i++)
		pthread_join(mappers[i], NULL);
	protocol_count("outer", CALLERS * CALLS);
	protocol_count("leaf", 2 * CALLERS * CALLS);
	protocol_count("failures", failures[0] + failures[1]);
	protocol_end();
	return 0;
}
