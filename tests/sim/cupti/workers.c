/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The knob workers=N: threads that the library keeps for itself beside the worker of its buffers, as the real one does. The call
 * that starts recording makes the first, which makes the second, and so on. Each waits, allocates and touches fresh memory, a
 * thousand times a second at most, and has no name of its own.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cupti_sim.h"

#define TOUCHED_BYTES	(16U << 12)
#define ALLOCATED_BYTES 54321
#define PAUSE_US	1000

static atomic_bool is_stopping;
static pthread_t first;
static bool is_working;

static void *worker_main(void *data)
{
	uintptr_t more = (uintptr_t)data;
	pthread_t next;
	bool has_next = more && !pthread_create(&next, NULL, worker_main, (void *)(more - 1));

	while (!is_stopping) {
		char *memory = mmap(NULL, TOUCHED_BYTES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		char *allocated = malloc(ALLOCATED_BYTES);

		if (memory != MAP_FAILED) {
			memset(memory, 1, TOUCHED_BYTES);
			munmap(memory, TOUCHED_BYTES);
		}
		if (allocated)
			memset(allocated, 1, ALLOCATED_BYTES);
		free(allocated);
		usleep(PAUSE_US);
	}
	if (has_next)
		pthread_join(next, NULL);
	return NULL;
}

void sim_workers_start(void)
{
	uint64_t count = sim_cupti_knob("workers", 0);

	if (is_working || !count)
		return;
	is_stopping = false;
	is_working = !pthread_create(&first, NULL, worker_main, (void *)(uintptr_t)(count - 1));
}

void sim_workers_stop(void)
{
	if (!is_working)
		return;
	is_working = false;
	is_stopping = true;
	pthread_join(first, NULL);
}
