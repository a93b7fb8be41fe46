/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls that are only counted: sums and a histogram a function, process and CPU, and nothing for a ring. */
#ifndef GPUPROBE_BPF_COUNTS_H
#define GPUPROBE_BPF_COUNTS_H

#include "maps.h"

static const volatile struct function_count no_calls;

/* Of this CPU; made when the first call comes. NULL: there is no room. */
static __always_inline struct function_count *function_count_get(u32 pid, u32 probe)
{
	struct function_count_key key = {.pid = pid, .probe = probe & PROBE_ID_MASK};
	struct function_count *count = bpf_map_lookup_elem(&function_counts, &key);

	if (count)
		return count;
	/* Another CPU may make it at the same time. */
	bpf_map_update_elem(&function_counts, &key, (const void *)&no_calls, BPF_NOEXIST);
	return bpf_map_lookup_elem(&function_counts, &key);
}

static __always_inline u32 count_bucket(u64 dur_ns)
{
	u32 bucket = 0;

	/* Without branches, each of which would double the verifier's ways through what follows. */
	for (u32 bits = 32; bits; bits /= 2) {
		u64 high = dur_ns >> bits;
		u32 shift = (u32)((high | -high) >> 63) * bits;

		__asm__ volatile("" : "+r"(shift));
		dur_ns >>= shift;
		bucket += shift;
	}
	return bucket < COUNT_BUCKETS ? bucket : COUNT_BUCKETS - 1;
}

/* dur_ns RECORD_DURATION_OPEN: its end was not seen. False: there was no room for it. Static: kernels before 6.14 allow no
 * other function to be called with preemption off. */
static __noinline int function_count_add(u32 pid, u32 probe, u64 dur_ns)
{
	struct function_count *count = function_count_get(pid, probe);
	u32 bucket = count_bucket(dur_ns);

	if (!count)
		return false;
	count->calls++;
	if (dur_ns == RECORD_DURATION_OPEN)
		return true;
	if (!count->timed_calls++ || dur_ns < count->minimum_ns)
		count->minimum_ns = dur_ns;
	if (dur_ns > count->maximum_ns)
		count->maximum_ns = dur_ns;
	count->time_ns += dur_ns;
	/* The verifier wants to see it after whatever the compiler made of the lines above. */
	__asm__ volatile("" : "+r"(bucket));
	if (bucket < COUNT_BUCKETS)
		count->buckets[bucket]++;
	return true;
}

#endif
