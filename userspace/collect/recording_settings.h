/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is recorded and how, free of the words in which it was asked for: recording/settings.h makes it from the options,
 * session and collect read nothing else of them.
 */
#ifndef GPUPROBE_COLLECT_RECORDING_SETTINGS_H
#define GPUPROBE_COLLECT_RECORDING_SETTINGS_H

#include "base/types.h"

/* An option as it is kept in the capture. */
struct recording_option {
	char *name, *value;
};

struct recording_settings {
	u64 duration_ns;	  /* of the window; 0: until the targets end or a signal comes */
	bool children;		  /* what the targets fork is recorded too */
	bool targets_named;	  /* the user named processes, else gpuprobe started the only one */
	bool off_cpu;		  /* when and why threads are off their CPU, */
	u64 off_cpu_min_ns;	  /* unless it was for less */
	u64 sample_period_ns;	  /* how often it is looked where threads run; 0: never */
	bool samples_asked;	  /* by name, as memory below: who can't take them does not begin */
	bool growth;		  /* how memory grows; the kernel can say it */
	bool heap_events;	  /* each allocation, not only their sums */
	bool memory_asked;	  /* by name, not by a level: the budget of levels leaves it alone, */
	bool usdt_asked;	  /* the same of USDT probes */
	bool call_stacks, usdt_stacks; /* of each call, of each hit of a USDT probe */
	u32 launch_samples_per_second; /* so many stacks of launches are taken; 0: all, */
	bool launch_stacks_first;      /* until these have had their share of the window */
	bool launch_stacks_by_price;   /* until these cost too much */
	bool launch_stacks_by_agent;
	bool python;		  /* frames of Python are in stacks */
	u64 max_overhead_percent; /* of what was asked for by name; 0: it is not bounded */
	u64 ring_bytes;		  /* of the ring buffer of each CPU; a power of two */
	struct recording_option *options;
	size_t option_count;
};

#endif
