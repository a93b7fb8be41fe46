/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The facts of a recording: who was recorded, where, with which options and probes, on which clock. Fills
 * batches; one per session, used by the main thread only.
 */
#ifndef GPUPROBE_COLLECT_RECORDING_FACTS_H
#define GPUPROBE_COLLECT_RECORDING_FACTS_H

#include "process/code_map.h"
#include "plan/plan.h"
#include "base/map.h"
#include "collect/source.h"
#include "store/batch.h"

struct process_rank;

struct recording_facts {
	struct text_ids tool; /* ids of RECORD_SOURCE_TOOL */
	struct text_ids
		probes; /* ids of RECORD_SOURCE_BPF: from 1 on the names of the plan's functions */
	u32 bpf_place;	/* text id (BPF) of the place that BPF losses name */
};

void recording_facts_init(struct recording_facts *facts);
void recording_facts_free(struct recording_facts *facts);

/* Of a fact from now on. */
struct record_header recording_facts_header(u32 kind, size_t size_bytes, u32 source);

/* ---- each adds its facts to batch: 0 or -ENOMEM ---- */

/* group: VALUE_attribute_group_*; an empty value is left out. */
int recording_facts_attribute(struct recording_facts *facts, struct batch *batch, u8 group,
			      const char *key, const char *value);
/* A number that is known only at the end. */
void recording_facts_result(struct recording_facts *facts, struct batch *batch, const char *key,
			    double value);
/* Host name, kernel, CPUs; clocks read now. */
int recording_facts_host(struct recording_facts *facts, struct batch *batch);
/* Its processes and threads as /proc has them now. */
int recording_facts_target(struct recording_facts *facts, struct batch *batch,
			   const struct target *target);
/* The names of its threads only: of a process that was no target when targets were looked at. */
int recording_facts_names(struct batch *batch, u32 pid);
/* Which one of several it is, as an attribute "rank of PID": "3 of 8, local 1"; NULL: not known. */
int recording_facts_rank(struct recording_facts *facts, struct batch *batch, u32 pid,
			 const struct process_rank *rank);
/* What a process calls itself, if that is more than its name; NULL: nothing. */
int recording_facts_title(struct recording_facts *facts, struct batch *batch, u32 pid,
			  const char *title);
/*
 * Only the threads that are not in `known` (by tid), which then are; for callers that have no facts, in any thread of
 * ours. 0 or the negative result of the callback.
 */
int recording_facts_threads(const struct target *target, struct map *known,
			    record_callback callback, void *data);
/* Probes; must be the first to use facts->probes. */
int recording_facts_plan(struct recording_facts *facts, struct batch *batch,
			 const struct plan *plan);
/* A module fact of the tool, with the id of the mapping. */
int recording_facts_mapping(struct recording_facts *facts, struct batch *batch, const struct code_map *map,
			    const struct code_mapping *mapping);
/* The names that the BPF programs give to what threads do but for system calls: why else one left its CPU, page faults. */
int recording_facts_bpf_names(struct batch *batch);
/* dur_ns RECORD_DURATION_OPEN: not closed yet. */
int recording_facts_window(struct batch *batch, u64 start_ns, u64 dur_ns);
/* place: text id of source. Nothing for a count of 0. */
int recording_facts_loss(struct batch *batch, u32 source, u32 reason, u32 place, u64 count);
/* The same of what happened at a moment, or is so since then; at_ns 0: it is not known. One moment for each reason and place: another one
 * is an entry of its own. */
int recording_facts_loss_at(struct batch *batch, u32 source, u32 reason, u32 place, u64 count, u64 at_ns);
/* From at_ns on, records of a sort (VALUE_recorded_sort_*) of process pid, 0: of all, are not taken any more; all up to complete_ns have been
 * handed over, 0: all up to at_ns. Written again it is the same. */
int recording_facts_end(struct batch *batch, u32 pid, u8 sort, u8 why, u64 at_ns, u64 complete_ns);

#endif
