/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocates and frees in every way that accounts of it can go wrong on, and counts what it got, as truth.c does:
 *
 *	memory CASE...	prints "ready", waits, runs the cases, prints "OPERATION.KIND.WHAT NUMBER" lines and "done"
 *
 * OPERATION is allocate or release, KIND that of record.def, or "before" for what was allocated before "ready"; WHAT is
 * count or bytes. live.KIND is what is not freed at the end, peak.KIND the most at once (of one thread).
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"

enum kind { DEVICE, PINNED, MANAGED, BEFORE, KINDS };

static const char *const kind_names[KINDS] = {"device", "pinned", "managed", "before"};
static struct {
	uint64_t allocations, allocated_bytes, releases, released_bytes, live_bytes, peak_bytes;
} truth[KINDS];
static pthread_mutex_t truth_lock = PTHREAD_MUTEX_INITIALIZER;
static void *const pool = (void *)0x5005, *const stream = (void *)0x57;

static void die(const char *what)
{
	printf("wrong: %s\n", what);
	exit(1);
}

static void got(enum kind kind, int result, uint64_t bytes)
{
	if (result)
		die("an allocation failed");
	pthread_mutex_lock(&truth_lock);
	truth[kind].allocations++;
	truth[kind].allocated_bytes += bytes;
	truth[kind].live_bytes += bytes;
	if (truth[kind].live_bytes > truth[kind].peak_bytes)
		truth[kind].peak_bytes = truth[kind].live_bytes;
	pthread_mutex_unlock(&truth_lock);
}

static void gave(enum kind kind, int result, uint64_t bytes)
{
	if (result)
		die("a release failed");
	pthread_mutex_lock(&truth_lock);
	truth[kind].releases++;
	truth[kind].released_bytes += bytes;
	truth[kind].live_bytes -= bytes;
	pthread_mutex_unlock(&truth_lock);
}

static void refused(int result)
{
	if (!result)
		die("what should fail did not");
}

/* ---- cases ---- */

static void driver(void)
{
	uint64_t address;
	size_t pitch;
	void *host;

	got(DEVICE, cuMemAlloc_v2(&address, 1001), 1001);
	gave(DEVICE, cuMemFree_v2(address), 1001);
	got(DEVICE, cuMemAllocPitch_v2(&address, &pitch, 1000, 7, 4), 1024 * 7);
	gave(DEVICE, cuMemFree_v2(address), 1024 * 7);
	got(MANAGED, cuMemAllocManaged(&address, 1002, 1), 1002);
	gave(MANAGED, cuMemFree_v2(address), 1002);
	got(DEVICE, cuMemAllocAsync(&address, 1003, stream), 1003);
	gave(DEVICE, cuMemFreeAsync(address, stream), 1003);
	got(DEVICE, cuMemAllocAsync_ptsz(&address, 1004, stream), 1004);
	gave(DEVICE, cuMemFreeAsync(address, stream), 1004);
	got(DEVICE, cuMemAllocFromPoolAsync(&address, 1005, pool, stream), 1005);
	gave(DEVICE, cuMemFreeAsync(address, stream), 1005);
	got(PINNED, cuMemAllocHost_v2(&host, 1006), 1006);
	got(DEVICE, cuMemCreate(&address, 1008, NULL, 0), 1008);
	gave(DEVICE, cuMemRelease(address), 1008);
	/* Not freed: see jumps(). */
}

/* Functions that jump on to another one. */
static void jumps(void)
{
	void *host;

	got(PINNED, cuMemHostAlloc(&host, 1007, 2), 1007);
	gave(PINNED, cuMemFreeHost(host), 1007);
}

static void runtime(void)
{
	struct extent extent = {100, 20, 3};
	struct pitched pitched;
	size_t pitch;
	void *address;

	got(DEVICE, cudaMalloc(&address, 2001), 2001);
	gave(DEVICE, cudaFree(address), 2001);
	got(DEVICE, cudaMallocPitch(&address, &pitch, 3, 5), 512 * 5);
	gave(DEVICE, cudaFree(address), 512 * 5);
	got(DEVICE, cudaMalloc3D(&pitched, extent), 512 * 20 * 3);
	gave(DEVICE, cudaFree(pitched.pointer), 512 * 20 * 3);
	got(MANAGED, cudaMallocManaged(&address, 2002, 1), 2002);
	gave(MANAGED, cudaFree(address), 2002);
	got(DEVICE, cudaMallocAsync(&address, 2003, stream), 2003);
	gave(DEVICE, cudaFreeAsync(address, stream), 2003);
	got(DEVICE, cudaMallocFromPoolAsync(&address, 2005, pool, stream), 2005);
	gave(DEVICE, cudaFreeAsync(address, stream), 2005);
	got(PINNED, cudaMallocHost(&address, 2006), 2006);
	gave(PINNED, cudaFreeHost(address), 2006);
	got(PINNED, cudaHostAlloc(&address, 2007, 3), 2007);
	gave(PINNED, cudaFreeHost(address), 2007);
	/* Not freed. */
	got(DEVICE, cudaMalloc(&address, 2008), 2008);
	got(MANAGED, cudaMallocManaged(&address, 2009, 1), 2009);
}

static void failures(void)
{
	void *address, *kept;
	size_t pitch;
	uint64_t number = 0x7a0000000000ULL;

	refused(cudaMalloc(&address, FAILS));
	refused(cudaMalloc(&address, 666));
	refused(cuMemAlloc_v2(&number, FAILS));
	refused(cudaMallocPitch(&address, &pitch, FAILS, 2));
	refused(cudaMallocHost(&address, FAILS));
	refused(cudaFree((void *)0x1234));
	refused(cuMemRelease(0x1234));
	/* Succeed, and do nothing. */
	if (cudaFree(NULL) || cuMemFree_v2(0) || cudaMalloc(&address, 0))
		die("nothing is refused");
	/* What could not be freed is still there, and has its size. */
	got(DEVICE, cudaMalloc(&kept, 3001), 3001);
	refused(cudaFree((char *)kept + (8ULL << 44)));
	gave(DEVICE, cudaFree(kept), 3001);
	refused(cudaFree(kept));
}

#define THREADS 4
#define ROUNDS	300

static struct {
	pthread_mutex_t lock;
	void *address[64];
	uint64_t bytes[64];
	size_t count;
} shelf = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Takes what any thread has put there. */
static bool take(void **ret_address, uint64_t *ret_bytes)
{
	bool found;

	pthread_mutex_lock(&shelf.lock);
	found = shelf.count > 0;
	if (found) {
		shelf.count--;
		*ret_address = shelf.address[shelf.count];
		*ret_bytes = shelf.bytes[shelf.count];
	}
	pthread_mutex_unlock(&shelf.lock);
	return found;
}

static bool put(void *address, uint64_t bytes)
{
	bool fits;

	pthread_mutex_lock(&shelf.lock);
	fits = shelf.count < 64;
	if (fits) {
		shelf.address[shelf.count] = address;
		shelf.bytes[shelf.count++] = bytes;
	}
	pthread_mutex_unlock(&shelf.lock);
	return fits;
}

/* Nobody changes what is mapped while they run, and each has been seen before: at its first call gpuprobe may not find out where
 * the stack of a thread is. */
static pthread_barrier_t together;

static void *thread_main(void *argument)
{
	unsigned seed = (uintptr_t)argument;
	uint64_t bytes;
	void *address;

	for (int i = 0; i < 20; i++) {
		cuMemcpy(0, 0, 0);
		usleep(1000);
	}
	pthread_barrier_wait(&together);
	for (int i = 0; i < ROUNDS; i++) {
		bytes = 1 + rand_r(&seed) % 100000;
		if (rand_r(&seed) % 2) {
			got(DEVICE, cudaMalloc(&address, bytes), bytes);
			if (!put(address, bytes))
				gave(DEVICE, cudaFree(address), bytes);
		} else if (take(&address, &bytes)) {
			gave(DEVICE, cudaFreeAsync(address, stream), bytes);
		}
	}
	pthread_barrier_wait(&together);
	return NULL;
}

static void threads(void)
{
	pthread_t ids[THREADS];

	pthread_barrier_init(&together, NULL, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&ids[i], NULL, thread_main, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
}

static void *older[2];

static void before(void)
{
	gave(BEFORE, cudaFree(older[0]), 0);
	gave(BEFORE, cuMemFree_v2((uint64_t)older[1]), 0);
}

static jmp_buf jump_buffer;

static void leave(void)
{
	longjmp(jump_buffer, 1);
}

/* Further down the stack than where a call was left open. */
static __attribute__((noinline)) void deeper(void)
{
	volatile char room[4096];
	void *address;

	memset((char *)room, 1, sizeof(room));
	got(DEVICE, cudaMalloc(&address, 4001), 4001);
	gave(DEVICE, cudaFree(address), 4001);
	room[0] = 1;
}

static void left(void)
{
	void *address;

	memory_hook = leave;
	if (!setjmp(jump_buffer))
		cudaMalloc(&address, 4002);
	memory_hook = NULL;
	deeper();
	got(DEVICE, cudaMalloc(&address, 4003), 4003);
}

/* More at once than gpuprobe keeps the sizes of. */
#define MANY 66000

static void many(void)
{
	static uint64_t addresses[MANY];

	for (int i = 0; i < MANY; i++)
		got(DEVICE, cuMemAlloc_v2(&addresses[i], 10), 10);
	for (int i = 0; i < MANY; i++)
		gave(DEVICE, cuMemFree_v2(addresses[i]), 10);
}

/* ---- */

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"driver", driver},   {"jumps", jumps},	  {"runtime", runtime}, {"failures", failures},
	{"threads", threads}, {"before", before}, {"left", left},	{"many", many},
};

static void run(const char *name)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(cases[i].name, name)) {
			cases[i].run();
			return;
		}
	die(name);
}

static void print(const char *what, enum kind kind, const char *unit, uint64_t value)
{
	if (value)
		printf("%s.%s%s %llu\n", what, kind_names[kind], unit, (unsigned long long)value);
}

int main(int argc, char **argv)
{
	char line[16];

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (cudaMalloc(&older[0], 111) || cuMemAlloc_v2((uint64_t *)&older[1], 222))
		die("the first allocations failed");
	printf("ready\n");
	while (fgets(line, sizeof(line), stdin)) {
		for (int i = 1; i < argc; i++)
			run(argv[i]);
		for (int i = 0; i < KINDS; i++) {
			print("allocate", i, ".count", truth[i].allocations);
			print("allocate", i, ".bytes", truth[i].allocated_bytes);
			print("release", i, ".count", truth[i].releases);
			print("release", i, ".bytes", truth[i].released_bytes);
			print("live", i, "", truth[i].live_bytes);
			print("peak", i, "", truth[i].peak_bytes);
		}
		printf("done\n");
	}
	return 0;
}
