/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the programs that count allocations of host memory (heap.bpf.c) and userspace share. Included by both; the includer
 * provides the integer names.
 */
#ifndef GPUPROBE_BPF_HEAP_H
#define GPUPROBE_BPF_HEAP_H

#include "allocator.h"
#include "shared.h"

#define HEAP_BLOCKS_MAX	   (1U << 20) /* allocated in the window and not freed yet */
#define HEAP_SITES_MAX	   (1U << 16) /* different stacks */
#define HEAP_PROCESSES_MAX (1U << 16)

/* Text ids of names: + the id of the probe; those below are counters. Behind all that waited_number() gives. */
#define TEXT_HEAP	       (TEXT_WAITED + WAITED_CPUS_MAX * 2 * WAITED_PER_CPU)
#define TEXT_HEAP_FUNCTION     (TEXT_HEAP + 16)
#define TEXT_HEAP_LIVE_BYTES   (TEXT_HEAP + 1)
#define TEXT_HEAP_LIVE_CALLS   (TEXT_HEAP + 2)
#define TEXT_HEAP_FOREIGN_FREE (TEXT_HEAP + 3)

/* Of a probe. */
struct heap_function {
	struct allocator row;
	u8 result_seen; /* its return is probed */
	u8 by_address;	/* by its return address, else at its exits */
};

/* Where an allocation lies. */
struct heap_key {
	u64 address;
	u32 pid;
	u32 generation; /* that of struct heap_process */
};

/* What was allocated in the window and is not freed yet. */
struct heap_block {
	u64 bytes;
	u64 ts;
	u64 site; /* key of its struct heap_site */
};

/* What one stack of one process has asked for. Its key is the stack's hash; the pid: those without a stack. */
struct heap_site {
	u32 stack; /* id; 0: none */
	u32 pid;
	u64 calls, bytes; /* that succeeded */
	u64 failed_calls;
	u64 live_calls, live_bytes;
	u64 peak_bytes; /* of the live ones */
	u64 largest_bytes;
};

struct heap_process {
	u32 generation; /* how often it executed another program: what it had allocated went with that */
	u32 pad;
	u64 calls, bytes;
	u64 failed_calls;
	u64 freed_calls, freed_bytes;
	u64 foreign_frees; /* of memory that was not seen to be allocated: before the window, most of it */
	u64 live_calls, live_bytes;
	u64 peak_bytes;
};

#endif
