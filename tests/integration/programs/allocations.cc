/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocates and frees in every way there is, and prints what it did: NAME.calls, .bytes, .live_calls, .live_bytes and .failed of
 * each function that called an allocator, and the sums of all. Nothing here allocates unseen: stdio has its buffers before the
 * first line is read, threads are started before it.
 *
 * Arguments: cases; none: all but "throws".
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <new>

#include "protocol.h"

#define BLOCKS	512
#define ROUNDS	20000
#define FOREIGN 7

struct counted {
	const char *name;
	unsigned long calls, bytes, live_calls, live_bytes, failed;
};

static struct {
	unsigned long calls, bytes, freed_calls, freed_bytes, live_calls, live_bytes, peak_bytes, failed, foreign;
} all;

static struct counted sites[64];
static size_t site_count;

static struct counted *site(const char *name)
{
	for (size_t i = 0; i < site_count; i++)
		if (!strcmp(sites[i].name, name))
			return &sites[i];
	sites[site_count].name = name;
	return &sites[site_count++];
}

static void got(const char *name, unsigned long bytes)
{
	struct counted *at = site(name);

	at->calls++;
	at->bytes += bytes;
	at->live_calls++;
	at->live_bytes += bytes;
	all.calls++;
	all.bytes += bytes;
	all.live_calls++;
	all.live_bytes += bytes;
	if (all.live_bytes > all.peak_bytes)
		all.peak_bytes = all.live_bytes;
}

static void gave(const char *name, unsigned long bytes)
{
	struct counted *at = site(name);

	at->live_calls--;
	at->live_bytes -= bytes;
	all.live_calls--;
	all.live_bytes -= bytes;
	all.freed_calls++;
	all.freed_bytes += bytes;
}

static void failed(const char *name)
{
	site(name)->failed++;
	all.failed++;
}

/* Keeps the compiler from knowing what becomes of it. */
static void *volatile kept[64];
static void *volatile passing;
static size_t volatile huge = PTRDIFF_MAX, zero = 0;

#define PASS(pointer) (passing = (pointer), (void *)passing)

PROBED void by_malloc(void)
{
	for (int i = 0; i < 1000; i++) {
		void *block = PASS(malloc(100 + i));

		got(__func__, 100 + i);
		free(block);
		gave(__func__, 100 + i);
	}
}

PROBED void by_calloc(void)
{
	for (int i = 0; i < 50; i++) {
		void *block = PASS(calloc(10, 30));

		got(__func__, 300);
		free(block);
		gave(__func__, 300);
	}
}

PROBED void keeps(void)
{
	for (int i = 0; i < 10; i++) {
		kept[i] = malloc(1000);
		got(__func__, 1000);
	}
}

PROBED void *first_block(size_t bytes)
{
	void *block = PASS(malloc(bytes));

	got(__func__, bytes);
	return block;
}

PROBED void *resized(void *block, const char *of, size_t before, size_t bytes)
{
	block = PASS(realloc(block, bytes));
	gave(of, before);
	got(__func__, bytes);
	return block;
}

PROBED void in_place(void)
{
	void *block = first_block(1000), *before = block;

	for (size_t bytes = 999; bytes > 990; bytes--)
		block = resized(block, bytes == 999 ? "first_block" : "resized", bytes + 1, bytes);
	protocol_count("in_place", block == before);
	free(block);
	gave("resized", 991);
}

PROBED void moved(void)
{
	void *block = first_block(64), *behind = first_block(64), *before = block;

	block = resized(block, "first_block", 64, 300000);
	protocol_count("moved", block != before);
	free(block);
	gave("resized", 300000);
	free(behind);
	gave("first_block", 64);
}

PROBED void realloc_of_nothing(void)
{
	void *block = PASS(realloc(NULL, 77));

	got(__func__, 77);
	/* glibc frees it. */
	kept[63] = realloc(block, zero);
	if (!kept[63]) {
		gave(__func__, 77);
		return;
	}
	gave(__func__, 77);
	got(__func__, 0);
	free(kept[63]);
	gave(__func__, 0);
}

PROBED void by_reallocarray(void)
{
	void *block = PASS(reallocarray(NULL, 10, 20));

	got(__func__, 200);
	block = PASS(reallocarray(block, 20, 20));
	gave(__func__, 200);
	got(__func__, 400);
	free(block);
	gave(__func__, 400);
}

PROBED void aligned(void)
{
	void *block;

	if (posix_memalign(&block, 64, 500))
		abort();
	got(__func__, 500);
	free(PASS(block));
	gave(__func__, 500);
	block = PASS(aligned_alloc(64, 640));
	got(__func__, 640);
	free(block);
	gave(__func__, 640);
	block = PASS(memalign(4096, 5000));
	got(__func__, 5000);
	free(block);
	gave(__func__, 5000);
}

PROBED void paged(void)
{
	void *block = PASS(valloc(100));

	got(__func__, 100);
	free(block);
	gave(__func__, 100);
	block = PASS(pvalloc(100));
	got(__func__, 100);
	free(block);
	gave(__func__, 100);
}

static void *foreign[FOREIGN], *foreign_resized;

/* Allocated before the first line was read. */
PROBED void frees_foreign(void)
{
	for (int i = 0; i < FOREIGN; i++) {
		free(foreign[i]);
		all.foreign++;
	}
	foreign_resized = PASS(realloc(foreign_resized, 5000));
	all.foreign++;
	got(__func__, 5000);
	free(NULL);
}

PROBED void fails(void)
{
	void *block = PASS(malloc(123)), *result;

	got(__func__, 123);
	for (int i = 0; i < 3; i++) {
		if (PASS(malloc(huge)))
			abort();
		failed(__func__);
	}
	if (PASS(calloc(huge, 2)))
		abort();
	failed(__func__);
	if (PASS(realloc(block, huge)))
		abort();
	failed(__func__);
	if (!posix_memalign(&result, 64, huge))
		abort();
	failed(__func__);
	free(block);
	gave(__func__, 123);
}

struct alignas(128) wide {
	char bytes[256];
};

PROBED void news(void)
{
	for (int i = 0; i < 100; i++) {
		long *one = new long[1 + i];

		got(__func__, 8 * (1 + i));
		passing = one;
		delete[] (long *)passing;
		gave(__func__, 8 * (1 + i));
	}
	passing = new long;
	got(__func__, 8);
	delete (long *)passing;
	gave(__func__, 8);
	passing = new (std::nothrow) char[333];
	got(__func__, 333);
	delete[] (char *)passing;
	gave(__func__, 333);
	passing = new wide;
	got(__func__, 256);
	delete (wide *)passing;
	gave(__func__, 256);
	kept[40] = new char[444];
	got(__func__, 444);
	/* The same frame calls another allocator behind operator new. */
	kept[41] = malloc(555);
	got(__func__, 555);
}

/* What carries the exception is allocated too. */
PROBED void throws(void)
{
	for (int i = 0; i < 5; i++) {
		try {
			passing = new char[huge / 2];
		} catch (const std::bad_alloc &) {
			failed(__func__);
		}
	}
	passing = new char[99];
	got(__func__, 99);
	delete[] (char *)passing;
	gave(__func__, 99);
}


/* ---- threads ---- */

static pthread_barrier_t begin, allocated, end;
static void *blocks[2][BLOCKS];

PROBED void *thread_malloc(size_t bytes)
{
	return malloc(bytes);
}

static void *run(void *data)
{
	void **mine = (void **)data;

	pthread_barrier_wait(&begin);
	for (int i = 0; i < BLOCKS; i++)
		mine[i] = malloc(32);
	for (int i = 0; i < ROUNDS; i++) {
		void *volatile block = thread_malloc(48);

		free(block);
	}
	pthread_barrier_wait(&allocated);
	pthread_barrier_wait(&end);
	return NULL;
}

/* What the threads allocated is freed by this one. */
PROBED void threads(void)
{
	struct counted *at = site("run");

	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&allocated);
	for (int i = 0; i < 2 * BLOCKS; i++)
		got("run", 32);
	for (int i = 0; i < 2; i++)
		for (int j = 0; j < BLOCKS; j++) {
			free(blocks[i][j]);
			gave("run", 32);
		}
	at = site("thread_malloc");
	at->calls = 2 * ROUNDS;
	at->bytes = 2 * ROUNDS * 48;
	all.calls += at->calls;
	all.bytes += at->bytes;
	all.freed_calls += at->calls;
	all.freed_bytes += at->bytes;
}

/* ---- all ---- */

static const struct {
	const char *name;
	void (*function)(void);
} cases[] = {
	{"malloc", by_malloc},	     {"calloc", by_calloc},	  {"keeps", keeps},
	{"in_place", in_place},	     {"moved", moved},		  {"nothing", realloc_of_nothing},
	{"array", by_reallocarray},  {"aligned", aligned},	  {"paged", paged},
	{"foreign", frees_foreign},  {"fails", fails},		  {"news", news},
	{"threads", threads},	     {"throws", throws},
};

static bool is_wanted(int count, char **names, const char *name)
{
	for (int i = 1; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return count == 1 && strcmp(name, "throws");
}

static void print(void)
{
	char name[64];

	for (size_t i = 0; i < site_count; i++) {
		const struct {
			const char *what;
			unsigned long count;
		} counts[] = {{"calls", sites[i].calls},
			      {"bytes", sites[i].bytes},
			      {"live_calls", sites[i].live_calls},
			      {"live_bytes", sites[i].live_bytes},
			      {"failed_calls", sites[i].failed}};

		for (const auto &count : counts) {
			snprintf(name, sizeof(name), "%s.%s", sites[i].name, count.what);
			protocol_count(name, count.count);
		}
	}
	protocol_count("all.calls", all.calls);
	protocol_count("all.bytes", all.bytes);
	protocol_count("all.freed_calls", all.freed_calls);
	protocol_count("all.freed_bytes", all.freed_bytes);
	protocol_count("all.live_calls", all.live_calls);
	protocol_count("all.live_bytes", all.live_bytes);
	protocol_count("all.peak_bytes", all.peak_bytes);
	protocol_count("all.failed_calls", all.failed);
	protocol_count("all.foreign_frees", all.foreign);
}

int main(int count, char **names)
{
	bool with_threads = is_wanted(count, names, "threads");
	pthread_t workers[2];

	for (void *&block : foreign)
		block = malloc(4000);
	foreign_resized = malloc(3000);
	pthread_barrier_init(&begin, NULL, 3);
	pthread_barrier_init(&allocated, NULL, 3);
	pthread_barrier_init(&end, NULL, 3);
	for (int i = 0; i < 2 && with_threads; i++)
		pthread_create(&workers[i], NULL, run, blocks[i]);
	protocol_begin();
	for (const auto &test : cases)
		if (is_wanted(count, names, test.name))
			test.function();
	print();
	protocol_done();
	while (protocol_next())
		;
	if (with_threads)
		pthread_barrier_wait(&end);
	for (int i = 0; i < 2 && with_threads; i++)
		pthread_join(workers[i], NULL);
	return 0;
}
