/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each sample of a running thread stands for: those of a thread add up, to the nanosecond, to the time that it ran while samples
 * were taken, as the scheduler counted it. Where that is not known a sample stands for the time between two looks.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "view/view_parts.h"

static struct sampled_thread *thread_of(struct view_samples *samples,
					const struct record_header *record)
{
	u64 *place = map_find(&samples->places, record->pid, record->tid);

	return place ? &samples->threads[*place] : NULL;
}

/* NULL: no memory. */
static struct sampled_thread *thread_add(struct view_samples *samples,
					 const struct record_header *record)
{
	struct sampled_thread *known = thread_of(samples, record);

	if (known)
		return known;
	if (array_reserve(&samples->threads, &samples->capacity, samples->count + 1) ||
	    map_set(&samples->places, record->pid, record->tid, samples->count))
		return NULL;
	samples->threads[samples->count] = (struct sampled_thread){0};
	return &samples->threads[samples->count++];
}

u64 view_thread_sampled_ns(const struct record_thread_time *time)
{
	if (time->run_ns == ~0ULL)
		return 0;
	return time->sampled_ns == ~0ULL ? time->run_ns : time->sampled_ns;
}

int view_samples_survey(struct view_samples *samples, const struct record_header *record)
{
	struct sampled_thread *thread;

	if (record->kind != KIND_sample && record->kind != KIND_thread_time)
		return 0;
	thread = thread_add(samples, record);
	if (!thread)
		return -ENOMEM;
	if (record->kind == KIND_sample)
		thread->count++;
	else
		thread->run_ns += view_thread_sampled_ns((const void *)record);
	return 0;
}

void view_samples_begin(struct view_samples *samples)
{
	for (size_t i = 0; i < samples->count; i++)
		samples->threads[i].seen = 0;
}

static u64 share_up_to(const struct sampled_thread *thread, u64 number)
{
	return (u64)((unsigned __int128)thread->run_ns * number / thread->count);
}

u64 view_samples_weight(struct view_samples *samples, const struct record_header *record)
{
	struct sampled_thread *thread = thread_of(samples, record);
	u64 number;

	if (!thread || !thread->run_ns || thread->seen >= thread->count)
		return ((const struct record_sample *)record)->period_ns;
	number = thread->seen++;
	return share_up_to(thread, number + 1) - share_up_to(thread, number);
}

void view_samples_free(struct view_samples *samples)
{
	free(samples->threads);
	map_free(&samples->places);
}
