/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The maps and control words that all programs share; defined in maps.bpf.c. */
#ifndef GPUPROBE_BPF_MAPS_H
#define GPUPROBE_BPF_MAPS_H

#include "types.h"
#include "frames.h"
#include "shared.h"

/* What we know of a thread; ends with it. */
struct thread_state {
	u64 home_low; /* its home stack: [home_low, home_high); 0, 0: not determined yet */
	u64 home_high;
	u64 alternate_low; /* the alternate signal stack that it had last; size 0: never had one */
	u64 alternate_bytes;
	u32 home_unknown;	 /* it cannot be determined: do not ask again */
	u32 named;		 /* its task fact was sent */
	u32 launches;		 /* hits of launches, */
	u32 launch_taken;	 /* whether the stack of the last one was taken, */
	u32 launch_weight;	 /* for how many it stands, */
	u64 launch_begin_ns;	 /* and when the program began; 0: it is not timed */
	struct frames frames;	 /* on the home stack */
	struct away_frames away; /* elsewhere */
};

/* The outermost function of the map allocators that a thread is in. Only of threads that were in one. */
struct allocating {
	u32 probe;	 /* 0: in none */
	u32 device_told; /* the fact of what its memory is drawn as was sent */
	u64 sp;		 /* at the first instruction of the function */
	u64 return_address;
	u64 ts;
	u64 address_at, bytes, factor, pool; /* see struct allocator */
	u64 released, released_bytes, released_memory;
};

#ifdef MAPS_DEFINE
#define MAP
#else
#define MAP extern
#endif

MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, RINGS_MAX);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(u32)); /* ring buffers, made by userspace */
} rings SEC(".maps");

MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);   /* tgid as the host sees it */
	__type(value, u32); /* the thread whose end userspace wants to know of; 0: none */
} targets SEC(".maps");

/* Numbers of targets and heirs that are gone, but not freed yet, and that another process has already. */
MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);   /* tgid as the host sees it */
	__type(value, u32); /* 1: it was a target */
} former_targets SEC(".maps");

/* Targets that have loaded libraries or executed another program since the plan was made, or may have unseen: how
 * often, with CHANGED_FOR_GOOD. */
MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CHANGED_TARGETS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32); /* tgid as the host sees it */
	__type(value, u32);
} changed_targets SEC(".maps");

/* Up to which of these changes userspace found what they map harmless; written by it, and at a fork. */
MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CHANGED_TARGETS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32); /* tgid as the host sees it */
	__type(value, u32);
} judged_targets SEC(".maps");

/* Where in a process probes are; written by userspace, and at a fork. Sized by userspace. */
MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32); /* tgid as the host sees it */
	__type(value, struct probed_code);
} probed_code SEC(".maps");

/* Processes that have inherited hijacked return addresses, see is_heir(). */
MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32); /* tgid as the host sees it */
	__type(value, u32);
} heirs SEC(".maps");

MAP struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 << 10);
} process_events SEC(".maps");

MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct counters);
} counters SEC(".maps");

/* By the probe's id. Sized by userspace, as the next ones. */
MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct probe_hits);
} probe_hits SEC(".maps");

/* Probes that are, or were, switched off inside the window, by their id. */
MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct switched_probe);
} switched_off SEC(".maps");

MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct function_count_key);
	__type(value, struct function_count);
} function_counts SEC(".maps");

/* Of entries whose cookie says COOKIE_SITE_DESCRIBED. Sized by userspace. */
MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32); /* id of the probe */
	__type(value, struct entry_site);
} entry_sites SEC(".maps");

MAP struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_state);
} threads SEC(".maps");

/* Of probes whose cookie says COOKIE_ALLOCATOR. Sized by userspace, as the next one. */
MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32); /* id of the probe */
	__type(value, struct allocator);
} allocators SEC(".maps");

/* What was seen to be allocated and not yet to be released. */
MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct allocation_key);
	__type(value, struct allocation);
} allocations SEC(".maps");

/* Processes whose memory an agent records. */
MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32); /* tgid as the host sees it */
	__type(value, u32);
} accounted_by_agent SEC(".maps");

/* Threads in targets that are the agent's, or were made by one that is: see own_threads.h. */
MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, OWN_THREADS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);   /* tid as the host sees it */
	__type(value, u32); /* tgid, with OWN_THREAD_AGENT */
} own_threads SEC(".maps");

/* Processes that get an agent, from before that. */
MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32); /* tgid as the host sees it */
	__type(value, u32);
} agent_processes SEC(".maps");

MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, THREAD_MAKERS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32); /* tid of the thread that was made, as the host sees it */
	__type(value, struct thread_maker);
} thread_makers SEC(".maps");

MAP struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct allocating);
} allocating SEC(".maps");

/* Of probes whose cookie says COOKIE_MATMUL. Sized by userspace. */
MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32); /* id of the probe */
	__type(value, struct matmul_arguments);
} matmuls SEC(".maps");

/* Stacks that were sent: by their hash, their id. Sized by userspace. */
MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, u32);
} stacks SEC(".maps");

/* Threads of targets, where samples are taken. Sized by userspace. */
MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32); /* tid as the host sees it */
	__type(value, struct thread_start);
} thread_starts SEC(".maps");

#undef MAP

/* Set by userspace before loading. */
extern const volatile unsigned int ring_count;
extern const volatile unsigned long long
	ring_wakeup_bytes; /* fill at which a ring may wake the reader */
/* What targets fork become targets. */
extern const volatile bool follow_children;
/* Are there any probes, which are on the functions of the programs that run now? */
extern const volatile bool has_probes;
/* Is there any probe with PROBE_COUNTED, COOKIE_ALLOCATOR, COOKIE_MATMUL? What a recording does not need the verifier does not go
 * through either: it takes most of the time that loading takes. */
extern const volatile bool counts_calls;
extern const volatile bool keeps_accounts;
extern const volatile bool reads_matmuls;
/* Are stacks taken of calls, of USDT probes? */
extern const volatile bool takes_call_stacks;
extern const volatile bool takes_usdt_stacks;
/* Of launches; how many a second, 0: of all. It may become less while they are taken. */
extern const volatile bool takes_launch_stacks;
extern volatile unsigned int launch_samples_per_second;
/* From now on none is. */
extern volatile unsigned int launch_stacks_over;
/* One in so many is taken just now, 0: all; by these of the last moments. */
extern volatile unsigned int launch_one_in;
extern volatile unsigned long long launch_hits, launch_samples, launch_since_ns;
/* Are there unwind tables, or will there be? */
extern const volatile bool walks_by_tables;
/* Of the only GPU of this machine; else ~0. */
extern const volatile unsigned int device_number;
/* Text id of its name, or of what is said where there are several. Set before the window opens. */
extern volatile unsigned int device_name;
/* How often samples are taken. */
extern const volatile unsigned long long sample_period_ns;
/* They were ended inside the window. */
extern volatile unsigned int samples_over;
/* The end of the window, while times of threads are still taken behind it; else 0. */
extern volatile unsigned long long thread_times_end_ns;
/* All of them were taken. */
extern volatile unsigned int thread_times_over;
/* Threads that are off their CPU for less are not recorded. */
extern const volatile unsigned long long off_cpu_min_ns;
/* Nor are waits that begin then or later; 0: there is no such moment. Set inside the window, while it is still to come. */
extern volatile unsigned long long off_cpu_until_ns;
/* The one flag that opens and closes the recording window. */
extern volatile unsigned int window_open;
/* Are links being closed inside the window? No return address is taken then, see bpf_source_switch_off(). */
extern volatile unsigned int letting_go;
/* Is there anything in switched_off? */
extern volatile unsigned int any_switched_off;
/* Targets have agents, or may get them: from before the first one is put in. */
extern volatile unsigned int agents_are_about;
/* CODE_MAPPED_* of shared.h. */
extern volatile unsigned int code_mapped;

#endif
