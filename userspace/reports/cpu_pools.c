/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reports/cpu_pools.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

static bool is_short(const struct cpu_pools *pools, u64 run_ns)
{
	return pools->period_ns && run_ns / CPU_POOL_SAMPLES < pools->period_ns;
}

/* SIZE_MAX: no memory. */
static size_t pool_of(struct cpu_pools *pools, u32 pid)
{
	u64 *place = map_find(&pools->places, pid, 0);

	if (place)
		return *place;
	if (array_reserve(&pools->pools, &pools->pool_capacity, pools->pool_count + 1) ||
	    map_set(&pools->places, pid, 0, pools->pool_count))
		return SIZE_MAX;
	pools->pools[pools->pool_count] = (struct cpu_pool){0};
	return pools->pool_count++;
}

int cpu_pools_add_thread(struct cpu_pools *pools, const struct view_event *event, u64 unsampled_ns)
{
	const struct record_thread_time *time = (const void *)event->record;
	u32 pid = event->record->pid, tid = event->record->tid;
	u64 *known = map_find(&pools->threads, pid, tid);

	if (map_set(&pools->threads, pid, tid, (known ? *known : 0) + view_thread_sampled_ns(time)))
		return -ENOMEM;
	if (!unsampled_ns)
		return 0;
	if (array_reserve(&pools->silent, &pools->silent_capacity, pools->silent_count + 1))
		return -ENOMEM;
	pools->silent[pools->silent_count++] = (struct cpu_pool_thread){pid, unsampled_ns};
	return 0;
}

int cpu_pools_add_sample(struct cpu_pools *pools, const struct view_event *event, size_t stack)
{
	const struct record_sample *sample = (const void *)event->record;
	u64 *run_ns = map_find(&pools->threads, event->record->pid, event->record->tid);
	size_t pool;

	pools->period_ns = sample->period_ns ?: pools->period_ns;
	if (!run_ns || !is_short(pools, *run_ns))
		return 0;
	pool = pool_of(pools, event->record->pid);
	if (pool == SIZE_MAX ||
	    array_reserve(&pools->samples, &pools->sample_capacity, pools->sample_count + 1))
		return -ENOMEM;
	pools->samples[pools->sample_count++] = (struct cpu_pool_sample){pool, stack};
	pools->pools[pool].ns += event->weight_ns;
	pools->pools[pool].count++;
	return 1;
}

/* The whole is given away to the nanosecond. */
static u64 next_share(struct cpu_pool *pool)
{
	u64 before = (u64)((unsigned __int128)pool->ns * pool->given / pool->count);

	pool->given++;
	return (u64)((unsigned __int128)pool->ns * pool->given / pool->count) - before;
}

int cpu_pools_share(struct cpu_pools *pools, int (*share)(void *data, size_t stack, u64 ns),
		    void *data)
{
	int result = 0;

	for (size_t i = 0; i < pools->silent_count && result == 0; i++) {
		const struct cpu_pool_thread *thread = &pools->silent[i];
		u64 *place = map_find(&pools->places, thread->pid, 0);

		if (place && is_short(pools, thread->ns))
			pools->pools[*place].ns += thread->ns;
		else
			result = share(data, CPU_POOL_NO_STACK, thread->ns);
	}
	for (size_t i = 0; i < pools->sample_count && result == 0; i++)
		result = share(data, pools->samples[i].stack,
			       next_share(&pools->pools[pools->samples[i].pool]));
	return result;
}

void cpu_pools_free(struct cpu_pools *pools)
{
	map_free(&pools->threads);
	map_free(&pools->places);
	free(pools->pools);
	free(pools->samples);
	free(pools->silent);
}
