/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the BPF programs count, a CPU each, added up. */
#include "collect/bpf/bpf_source_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Values of nothing but u64, for each CPU; the caller frees. */
static u64 *per_cpu_alloc(size_t value_bytes, int *ret_cpus)
{
	int cpus = libbpf_num_possible_cpus();

	*ret_cpus = cpus;
	return cpus < 1 ? NULL : calloc((size_t)cpus, value_bytes);
}

static void add_up(u64 *sum, const u64 *per_cpu, int cpus, size_t value_bytes)
{
	size_t count = value_bytes / sizeof(u64);

	memset(sum, 0, value_bytes);
	for (int cpu = 0; cpu < cpus; cpu++)
		for (size_t i = 0; i < count; i++)
			sum[i] += per_cpu[cpu * count + i];
}

int bpf_source_counters(const struct bpf_source *source, struct counters *ret_counters)
{
	int cpus;
	_cleanup_free_ u64 *per_cpu = per_cpu_alloc(sizeof(*ret_counters), &cpus);
	u32 zero = 0;

	if (!per_cpu)
		return -ENOMEM;
	if (bpf_map__lookup_elem(source->skeleton->maps.counters, &zero, sizeof(zero), per_cpu,
				 (size_t)cpus * sizeof(*ret_counters), 0))
		return -errno;
	add_up((u64 *)ret_counters, per_cpu, cpus, sizeof(*ret_counters));
	return 0;
}

#define BATCH 1024

/* All of them in a few calls. */
static int read_hits(int map_fd, u64 *per_cpu, int cpus, size_t count, struct probe_hits *ret_hits)
{
	u32 keys[BATCH], place;
	size_t done = 0;
	void *in = NULL;
	int result = 0;

	while (done < count && !result) {
		u32 taken = BATCH;

		result = bpf_map_lookup_batch(map_fd, in, &place, keys, per_cpu, &taken, NULL);
		if (result == -ENOENT)
			done = count;
		else if (result)
			return result;
		for (u32 i = 0; i < taken; i++)
			if (keys[i] && keys[i] <= count)
				add_up((u64 *)&ret_hits[keys[i] - 1],
				       per_cpu + (size_t)i * cpus * sizeof(*ret_hits) / sizeof(u64),
				       cpus, sizeof(*ret_hits));
		in = &place;
	}
	return 0;
}

int bpf_source_hits(const struct bpf_source *source, size_t function_count,
		    struct probe_hits *ret_hits)
{
	int cpus;
	_cleanup_free_ u64 *per_cpu = per_cpu_alloc(sizeof(*ret_hits) * BATCH, &cpus);

	if (!per_cpu)
		return -ENOMEM;
	return read_hits(bpf_map__fd(source->skeleton->maps.probe_hits), per_cpu, cpus,
			 function_count, ret_hits);
}

/* Minimum and maximum of the CPUs do not add up. */
static void add_count(struct function_count *sum, const struct function_count *one)
{
	bool first = !sum->timed_calls;

	sum->calls += one->calls;
	if (!one->timed_calls)
		return;
	sum->timed_calls += one->timed_calls;
	sum->time_ns += one->time_ns;
	if (first || one->minimum_ns < sum->minimum_ns)
		sum->minimum_ns = one->minimum_ns;
	if (one->maximum_ns > sum->maximum_ns)
		sum->maximum_ns = one->maximum_ns;
	for (size_t i = 0; i < COUNT_BUCKETS; i++)
		sum->buckets[i] += one->buckets[i];
}

int bpf_source_function_counts(const struct bpf_source *source,
			       int (*callback)(void *data, const struct function_count_key *key,
					       const struct function_count *count),
			       void *data)
{
	const struct bpf_map *map = source->skeleton->maps.function_counts;
	struct function_count_key keys[2], *previous = NULL;
	int cpus, result = 0;
	_cleanup_free_ u64 *per_cpu = per_cpu_alloc(sizeof(struct function_count), &cpus);

	if (!per_cpu)
		return -ENOMEM;
	for (size_t i = 0; !result; i++) {
		struct function_count sum = {0};
		struct function_count_key *key = &keys[i % 2];

		if (bpf_map__get_next_key(map, previous, key, sizeof(*key)))
			break;
		previous = key;
		if (bpf_map__lookup_elem(map, key, sizeof(*key), per_cpu,
					 (size_t)cpus * sizeof(sum), 0))
			continue;
		for (int cpu = 0; cpu < cpus; cpu++)
			add_count(&sum, (const struct function_count *)per_cpu + cpu);
		result = callback(data, key, &sum);
	}
	return result;
}

/* ---- calibration ---- */

static int reset_counters(struct bpf_source *source)
{
	int cpus;
	_cleanup_free_ u64 *zeros = per_cpu_alloc(sizeof(struct counters), &cpus);
	u32 zero = 0;

	if (!zeros)
		return -ENOMEM;
	if (bpf_map__update_elem(source->skeleton->maps.counters, &zero, sizeof(zero), zeros,
				 (size_t)cpus * sizeof(struct counters), 0))
		return -errno;
	for (u32 probe = 1; probe <= CALIBRATION_PROBES; probe++)
		if (bpf_map__update_elem(source->skeleton->maps.probe_hits, &probe, sizeof(probe),
					 zeros, (size_t)cpus * sizeof(struct probe_hits), 0))
			return -errno;
	return 0;
}

static void forget_counts(struct bpf_source *source)
{
	struct bpf_map *map = source->skeleton->maps.function_counts;
	struct function_count_key key;

	while (!bpf_map__get_next_key(map, NULL, &key, sizeof(key)) &&
	       !bpf_map__delete_elem(map, &key, sizeof(key), 0))
		;
}

int bpf_source_reset_counters(struct bpf_source *source, struct err *err)
{
	int result = reset_counters(source);

	forget_counts(source);
	return result ? err_errno(err, result, "can't reset the counters") : 0;
}
