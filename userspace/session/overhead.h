/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the recording costs the targets, estimated: hits multiplied by what they cost when that was calibrated. Main
 * thread only.
 */
#ifndef GPUPROBE_SESSION_OVERHEAD_H
#define GPUPROBE_SESSION_OVERHEAD_H

#include "collect/bpf/bpf_source.h"
#include "session/calibrate.h"
#include "session/gpu_cost.h"
#include "collect/recording_facts.h"

/* Something that is recorded and costs: a function's probe, or all that a level records of one sort. */
struct overhead_part {
	const char *name; /* the plan's, or constant */
	bool is_plural;	  /* its name */
	size_t function;  /* its place in the plan; SIZE_MAX: it is none, but */
	enum price_sort sort; /* all of this, */
	enum gpu_cost gpu;    /* or, where this is set, this of the GPU side */
	bool not_priced;      /* what it costs is not known */
	bool allocator;   /* it gives or takes memory of GPUs */
	bool by_level;	  /* no option asked for it */
	/* The same, and it is a call of CUDA that CUPTI does not record; none that allocates or frees: accounts would be wrong. */
	bool api;
	bool may_go;	  /* it can be switched off alone, */
	bool goes_first;  /* and before all others */
	u64 entries, exits, cost_ns; /* since the window opened */
	u64 marked_cost_ns;	     /* at the last overhead_mark() */
	u64 api_cost_ns;	     /* at the mark of session_api_look() */
	u64 switched_off_ns;	     /* when; 0: it is not */
};

struct overhead;

struct overhead_config {
	struct bpf_source *source;
	const struct plan *plan;
	const struct calibration *calibration; /* stays the caller's */
	struct overhead_sort {
		bool recorded;
		bool by_level;
	} sorts[PRICE_SORTS];
	bool gpu; /* agents record: overhead_set_gpu() will be called */
	bool gpu_may_go;
	bool (*may_go)(const struct plan_function *function); /* of functions */
};

int overhead_create(const struct overhead_config *config, struct overhead **ret_overhead, struct err *err);
struct overhead *overhead_free(struct overhead *overhead); /* NULL allowed; returns NULL */

/* What is known of the GPU side; for the next overhead_update(), which need not follow. */
void overhead_set_gpu(struct overhead *overhead, const struct gpu_cost_value values[static GPU_COSTS]);
/* Looks at the counters. cpu_ns: CPU time of the targets since the window opened. 0 or -errno. */
int overhead_update(struct overhead *overhead, u64 cpu_ns);
/* Since the window opened, percent of the CPU time, of what the targets' threads do for it; < 0: not known yet. */
double overhead_percent(const struct overhead *overhead);
u64 overhead_cost_ns(const struct overhead *overhead);
u64 overhead_cpu_ns(const struct overhead *overhead); /* as overhead_update() was told */
/* The same of what threads of ours in the targets do beside them. */
double overhead_beside_percent(const struct overhead *overhead);
/* All parts; the caller may set switched_off_ns. */
struct overhead_part *overhead_parts(struct overhead *overhead, size_t *ret_count);
/* The window opens: samples begin there. */
void overhead_begin(struct overhead *overhead, u64 now_ns);
/* From here on marked_cost_ns and the CPU time are counted from; what was since the last time becomes a sample of how the
 * price changes over time. */
void overhead_mark(struct overhead *overhead, u64 now_ns);
/* CPU time of the targets since then. */
u64 overhead_cpu_since_mark_ns(const struct overhead *overhead);

/* The price of each part, and as counters how it changed; pid: whose row they are drawn in. */
int overhead_put_facts(const struct overhead *overhead, struct recording_facts *facts, u32 pid,
		       struct batch *batch);

#endif
