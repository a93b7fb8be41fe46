/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program whose memory grows, and which knows how: bytes mapped and unmapped by each way, and the page faults of each
 * way as the kernel counts them for the thread (getrusage). Each way is a function of its own.
 *
 *	grows storm	nothing but faults and mappings instead, more than are looked at one by one
 *	grows child	it is a child that maps, touches and unmaps; its parent maps less, and touches nothing of it
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include "protocol.h"

#define PAGE	     4096UL
#define MAPS	     20
#define MAP_PAGES    16UL
#define TOUCHED	     300UL
#define HUGE	     (2UL << 20)
#define THREADS	     3
#define THREAD_PAGES 50UL

static char *maps[MAPS], *room, *huge, *small_pages, *read_into, *populated, *fixed;
static void *break_before;
static int file;

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

static void check(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

/* The C library keeps no frame pointers: of its functions' callers the stack leaves out the first; of its mmap() all, where
 * that uses the register for something else (2.41). */
PROBED char *do_mmap(void *at, unsigned long bytes, int protection, int flags, int from,
		     long offset)
{
	return (char *)syscall(SYS_mmap, at, bytes, protection, flags, from, offset);
}

PROBED int do_munmap(void *at, unsigned long bytes)
{
	return munmap(at, bytes);
}

PROBED char *do_mremap(void *at, unsigned long bytes, unsigned long bytes_then, int flags)
{
	return mremap(at, bytes, bytes_then, flags);
}

PROBED int do_brk(void *at)
{
	return brk(at);
}

PROBED long do_read(int from, void *into, unsigned long bytes)
{
	return read(from, into, bytes);
}

static char *map(unsigned long bytes)
{
	char *address =
		do_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(address != MAP_FAILED, "mmap");
	return address;
}

/* Each write is to a page that was never touched. */
PROBED void touch(char *address, unsigned long pages)
{
	for (unsigned long i = 0; i < pages; i++)
		((volatile char *)address)[i * PAGE] = 1;
}

PROBED void map_many(void)
{
	for (int i = 0; i < MAPS; i++)
		maps[i] = map(MAP_PAGES * PAGE);
}

PROBED void touch_pages(void)
{
	touch(room, TOUCHED);
}

PROBED void touch_again(void)
{
	touch(room, TOUCHED);
}

/* Given back to the kernel, and touched again. */
PROBED void touch_dropped(void)
{
	check(!madvise(room, 100 * PAGE, MADV_DONTNEED), "madvise");
	touch(room, 100);
}

PROBED void touch_huge(void)
{
	touch(huge, 4 * HUGE / PAGE);
}

/* The kernel writes into memory that was never touched. */
PROBED void read_file(void)
{
	check(do_read(file, read_into, 40 * PAGE) == 40 * PAGE, "read");
}

PROBED void populate(void)
{
	populated = do_mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	check(populated != MAP_FAILED, "populate");
}

/* In the place of what is mapped already: nothing grows. */
PROBED void map_over(void)
{
	check(do_mmap(fixed, 8 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
		      fixed,
	      "mmap over");
}

PROBED void move_break(void)
{
	break_before = sbrk(0);
	check(!do_brk((char *)break_before + 25 * PAGE), "brk");
	check(!do_brk((char *)break_before + 5 * PAGE), "brk");
}

PROBED void grow_and_shrink(void)
{
	char *address = do_mremap(maps[0], MAP_PAGES * PAGE, 3 * MAP_PAGES * PAGE, MREMAP_MAYMOVE);

	check(address != MAP_FAILED, "mremap");
	check(do_mremap(address, 3 * MAP_PAGES * PAGE, 2 * MAP_PAGES * PAGE, 0) == address,
	      "mremap");
	maps[0] = address;
}

PROBED void unmap_many(void)
{
	check(!do_munmap(maps[0], 2 * MAP_PAGES * PAGE), "munmap");
	for (int i = 1; i < MAPS; i++)
		check(!do_munmap(maps[i], MAP_PAGES * PAGE), "munmap");
}

/* Nothing is there, and what no mapping can have. */
PROBED void fail(void)
{
	do_munmap(maps[1], MAP_PAGES * PAGE);
	check(do_munmap(maps[1] + 1, PAGE) &&
		      do_mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED,
	      "wrong calls");
}

PROBED void *touch_in_thread(void *place)
{
	touch(place, THREAD_PAGES);
	return NULL;
}

static void touch_in_threads(void)
{
	pthread_t threads[THREADS];

	for (long i = 0; i < THREADS; i++)
		check(!pthread_create(&threads[i], NULL, touch_in_thread,
				      small_pages + i * THREAD_PAGES * PAGE),
		      "thread");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

#define STORM_PAGES 60000UL
#define STORM_MAPS  4000

PROBED void touch_storm(char *address)
{
	touch(address, STORM_PAGES);
}

PROBED void map_storm(void)
{
	for (int i = 0; i < STORM_MAPS; i++)
		do_munmap(map(PAGE), PAGE);
}

static int storm(void)
{
	char *address = map(STORM_PAGES * PAGE);
	long before;

	madvise(address, STORM_PAGES * PAGE, MADV_NOHUGEPAGE);
	faults();
	protocol_begin();
	before = faults();
	touch_storm(address);
	protocol_count("faults", faults() - before);
	map_storm();
	protocol_count("maps", STORM_MAPS);
	protocol_end();
	return 0;
}

static void prepare(void)
{
	char name[] = "/tmp/gpuprobe-grows-XXXXXX", *aligned;

	file = mkstemp(name);
	check(file >= 0 && !unlink(name) && !ftruncate(file, 40 * PAGE), "file");
	room = map(TOUCHED * PAGE);
	small_pages = map(THREADS * THREAD_PAGES * PAGE);
	read_into = map(40 * PAGE);
	fixed = map(8 * PAGE);
	aligned = map(5 * HUGE);
	huge = (char *)(((unsigned long)aligned + HUGE - 1) & ~(HUGE - 1));
	/* Whatever else this kernel makes of one piece. */
	madvise(room, TOUCHED * PAGE, MADV_NOHUGEPAGE);
	madvise(small_pages, THREADS * THREAD_PAGES * PAGE, MADV_NOHUGEPAGE);
	madvise(read_into, 40 * PAGE, MADV_NOHUGEPAGE);
	madvise(huge, 4 * HUGE, MADV_HUGEPAGE);
}

static const struct {
	const char *name;
	void (*run)(void);
} ways[] = {
	{"map_many", map_many},	      {"touch_pages", touch_pages},
	{"touch_again", touch_again}, {"touch_dropped", touch_dropped},
	{"touch_huge", touch_huge},   {"read_file", read_file},
	{"populate", populate},	      {"map_over", map_over},
	{"move_break", move_break},   {"grow_and_shrink", grow_and_shrink},
	{"unmap_many", unmap_many},   {"fail", fail},
};

#define WAYS (sizeof(ways) / sizeof(ways[0]))

/* How much of the huge pages the kernel made out of one piece. */
static unsigned long huge_bytes(void)
{
	unsigned long kilobytes = 0;
	char line[256];
	FILE *smaps = fopen("/proc/self/smaps_rollup", "r");

	while (smaps && fgets(line, sizeof(line), smaps))
		if (sscanf(line, "AnonHugePages: %lu", &kilobytes) == 1)
			break;
	if (smaps)
		fclose(smaps);
	return kilobytes << 10;
}

#define CHILD_PAGES 70UL

PROBED void touch_in_child(char *address)
{
	touch(address, CHILD_PAGES);
}

static char *map_small(unsigned long bytes)
{
	char *address = map(bytes);

	madvise(address, bytes, MADV_NOHUGEPAGE);
	return address;
}

static int with_child(void)
{
	char *address;
	pid_t child;

	protocol_begin();
	address = map_small(5 * PAGE);
	child = fork();
	if (!child) {
		address = map_small(2 * CHILD_PAGES * PAGE);
		touch_in_child(address);
		check(!do_munmap(address, CHILD_PAGES * PAGE), "munmap");
		_exit(0);
	}
	check(child > 0 && waitpid(child, NULL, 0) == child, "fork");
	check(!do_munmap(address, 5 * PAGE), "munmap");
	protocol_count("child", (unsigned long)child);
	protocol_end();
	return 0;
}

int main(int count, char **words)
{
	static long counts[WAYS];

	if (count == 2 && !strcmp(words[1], "storm"))
		return storm();
	if (count == 2 && !strcmp(words[1], "child"))
		return with_child();
	prepare();
	faults();
	protocol_begin();
	for (unsigned long i = 0; i < WAYS; i++) {
		long before = faults();

		ways[i].run();
		counts[i] = faults() - before;
	}
	touch_in_threads();
	for (unsigned long i = 0; i < WAYS; i++)
		protocol_count(ways[i].name, counts[i]);
	protocol_count("huge_bytes", huge_bytes());
	protocol_end();
	return 0;
}
