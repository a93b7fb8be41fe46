/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/sorter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/temporary_file.h"

#define SORTER_MINIMUM_PAIRS 256
/* A run's window in the merge: one page at least, so that a read is worth its call. */
#define SORTER_WINDOW_PAIRS 256

/* A sorted part, in the file from first to end, of which pairs[at..count) are in memory. */
struct sorter_run {
	u64 first; /* in pairs, like end */
	u64 end;
	struct sorter_pair *pairs;
	size_t count;
	size_t at;
};

struct sorter {
	struct sorter_pair
		*pairs; /* the chunk being filled; in the merge the windows of all runs */
	size_t count;
	size_t capacity;
	int fd; /* -1: nothing was spilled */
	u64 spilled;
	struct sorter_run *runs;
	size_t run_count;
	size_t run_capacity;
	size_t window_pairs;
	size_t *heap; /* numbers of runs that are not empty, the one with the least pair first */
	size_t heap_count;
};

static int sorter_compare(const void *a_, const void *b_)
{
	const struct sorter_pair *a = a_, *b = b_;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return (a->value > b->value) - (a->value < b->value);
}

int sorter_create(size_t memory_bytes, struct sorter **ret_sorter, struct err *err)
{
	struct sorter *sorter = calloc(1, sizeof(*sorter));

	if (!sorter)
		return err_errno(err, -ENOMEM, "can't sort");
	sorter->fd = -1;
	/* Half, since qsort() takes as much again. */
	sorter->capacity = memory_bytes / sizeof(struct sorter_pair) / 2;
	if (sorter->capacity < SORTER_MINIMUM_PAIRS)
		sorter->capacity = SORTER_MINIMUM_PAIRS;
	sorter->pairs = reallocarray(NULL, sorter->capacity, sizeof(struct sorter_pair));
	if (!sorter->pairs) {
		sorter_free(sorter);
		return err_errno(err, -ENOMEM, "can't sort in %zu bytes of memory", memory_bytes);
	}
	*ret_sorter = sorter;
	return 0;
}

/* ---- spilling ---- */

static int sorter_write(struct sorter *sorter, struct err *err)
{
	int result =
		file_write_at(sorter->fd, sorter->pairs, sorter->count * sizeof(struct sorter_pair),
			      sorter->spilled * sizeof(struct sorter_pair));

	return result ? err_errno(err, result,
				  "can't sort: writing a temporary file (set TMPDIR to a "
				  "folder with space)")
		      : 0;
}

static int sorter_spill(struct sorter *sorter, struct err *err)
{
	int result;

	if (sorter->fd < 0) {
		result = temporary_file_open(&sorter->fd, err);
		if (result < 0) {
			err_prefix(err, "can't sort");
			return result;
		}
	}
	if (array_reserve(&sorter->runs, &sorter->run_capacity, sorter->run_count + 1) < 0)
		return err_errno(err, -ENOMEM, "can't sort");
	qsort(sorter->pairs, sorter->count, sizeof(struct sorter_pair), sorter_compare);
	result = sorter_write(sorter, err);
	if (result < 0)
		return result;
	sorter->runs[sorter->run_count++] = (struct sorter_run){
		.first = sorter->spilled,
		.end = sorter->spilled + sorter->count,
	};
	sorter->spilled += sorter->count;
	sorter->count = 0;
	return 0;
}

int sorter_add(struct sorter *sorter, u64 group, u64 value, struct err *err)
{
	if (sorter->count == sorter->capacity) {
		int result = sorter_spill(sorter, err);

		if (result < 0)
			return result;
	}
	sorter->pairs[sorter->count++] = (struct sorter_pair){.group = group, .value = value};
	return 0;
}

/* ---- merging ---- */

static int sorter_refill(struct sorter *sorter, struct sorter_run *run, struct err *err)
{
	u64 left = run->end - run->first;
	size_t count = left < sorter->window_pairs ? (size_t)left : sorter->window_pairs;
	size_t wanted = count * sizeof(struct sorter_pair);
	ssize_t got = file_read_at(sorter->fd, run->pairs, wanted,
				   run->first * sizeof(struct sorter_pair));

	if (got != (ssize_t)wanted)
		return err_errno(err, got < 0 ? (int)got : -EIO,
				 "can't sort: reading a temporary file");
	run->first += count;
	run->count = count;
	run->at = 0;
	return 0;
}

static bool sorter_is_less(const struct sorter *sorter, size_t a, size_t b)
{
	const struct sorter_run *run_a = &sorter->runs[a], *run_b = &sorter->runs[b];

	return sorter_compare(&run_a->pairs[run_a->at], &run_b->pairs[run_b->at]) < 0;
}

/* Moves the heap's entry at i down to where it belongs. */
static void sorter_sift(struct sorter *sorter, size_t i)
{
	for (;;) {
		size_t least = i, left = 2 * i + 1, right = left + 1, run;

		if (left < sorter->heap_count &&
		    sorter_is_less(sorter, sorter->heap[left], sorter->heap[least]))
			least = left;
		if (right < sorter->heap_count &&
		    sorter_is_less(sorter, sorter->heap[right], sorter->heap[least]))
			least = right;
		if (least == i)
			return;
		run = sorter->heap[i];
		sorter->heap[i] = sorter->heap[least];
		sorter->heap[least] = run;
		i = least;
	}
}

/* Shares the memory of the chunk out among the runs. */
static int sorter_open_windows(struct sorter *sorter, struct err *err)
{
	sorter->window_pairs = sorter->capacity / sorter->run_count;
	if (sorter->window_pairs < SORTER_WINDOW_PAIRS) {
		struct sorter_pair *pairs;

		sorter->window_pairs = SORTER_WINDOW_PAIRS;
		pairs = reallocarray(sorter->pairs, sorter->run_count,
				     SORTER_WINDOW_PAIRS * sizeof(*pairs));
		if (!pairs)
			return err_errno(err, -ENOMEM, "can't sort");
		sorter->pairs = pairs;
	}
	for (size_t i = 0; i < sorter->run_count; i++)
		sorter->runs[i].pairs = sorter->pairs + i * sorter->window_pairs;
	return 0;
}

int sorter_finish(struct sorter *sorter, struct err *err)
{
	int result;

	if (!sorter->run_count) {
		qsort(sorter->pairs, sorter->count, sizeof(struct sorter_pair), sorter_compare);
		sorter->runs = calloc(1, sizeof(*sorter->runs));
		sorter->heap = calloc(1, sizeof(*sorter->heap));
		if (!sorter->runs || !sorter->heap)
			return err_errno(err, -ENOMEM, "can't sort");
		sorter->runs[0].pairs = sorter->pairs;
		sorter->runs[0].count = sorter->count;
		sorter->run_count = 1;
		sorter->heap_count = sorter->count != 0;
		return 0;
	}
	if (sorter->count) {
		result = sorter_spill(sorter, err);
		if (result < 0)
			return result;
	}
	result = sorter_open_windows(sorter, err);
	if (result < 0)
		return result;
	sorter->heap = calloc(sorter->run_count, sizeof(*sorter->heap));
	if (!sorter->heap)
		return err_errno(err, -ENOMEM, "can't sort");
	for (size_t i = 0; i < sorter->run_count; i++) {
		result = sorter_refill(sorter, &sorter->runs[i], err);
		if (result < 0)
			return result;
		sorter->heap[sorter->heap_count++] = i;
	}
	for (size_t i = sorter->heap_count / 2; i-- > 0;)
		sorter_sift(sorter, i);
	return 0;
}

int sorter_next(struct sorter *sorter, struct sorter_pair *ret_pair, struct err *err)
{
	struct sorter_pair pair;
	struct sorter_run *run;

	if (!sorter->heap_count)
		return 0;
	run = &sorter->runs[sorter->heap[0]];
	pair = run->pairs[run->at++];
	if (run->at == run->count && run->first < run->end) {
		int result = sorter_refill(sorter, run, err);

		if (result < 0)
			return result;
	}
	if (run->at == run->count)
		sorter->heap[0] = sorter->heap[--sorter->heap_count];
	sorter_sift(sorter, 0);
	*ret_pair = pair;
	return 1;
}

struct sorter *sorter_free(struct sorter *sorter)
{
	if (!sorter)
		return NULL;
	cleanup_close(&sorter->fd);
	free(sorter->pairs);
	free(sorter->runs);
	free(sorter->heap);
	free(sorter);
	return NULL;
}
