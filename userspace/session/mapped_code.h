/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Targets that load libraries while they are recorded: what is known of them when the probes are planned holds no longer,
 * so the BPF programs overwrite none of their return addresses until what they map was judged again. Main thread only.
 */
#ifndef GPUPROBE_SESSION_MAPPED_CODE_H
#define GPUPROBE_SESSION_MAPPED_CODE_H

#include "plan/plan.h"
#include "collect/bpf/bpf_source.h"

struct mapped_code_config {
	struct bpf_source *source;
	const struct target *targets; /* live on; others are opened by their number */
	size_t target_count;
};

struct mapped_code_status {
	u64 harmless_count;   /* how often what was loaded was found harmless, */
	u64 harmless_max_ns;  /* and durations were missing for so long at most */
	u64 harmful_count;    /* processes without durations from there on */
};

struct mapped_code;

/* NULL: out of memory. */
struct mapped_code *mapped_code_create(const struct mapped_code_config *config);
struct mapped_code *mapped_code_free(struct mapped_code *mapped); /* NULL allowed; returns NULL */
/* A process has mapped code, at this time. */
void mapped_code_note(struct mapped_code *mapped, u32 pid, u64 ts);
/* Judges those that were noted; those that were judged just before only if all. May read files, up to a second for
 * each process at its first time. */
void mapped_code_judge(struct mapped_code *mapped, bool all);
struct mapped_code_status mapped_code_status(const struct mapped_code *mapped);

#endif
