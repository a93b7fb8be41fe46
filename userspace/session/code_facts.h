/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code that the targets of a session map, noted over its time, so that the addresses of stacks can be named at its end;
 * what is a file becomes module facts of the tool. Main thread only.
 */
#ifndef GPUPROBE_SESSION_CODE_FACTS_H
#define GPUPROBE_SESSION_CODE_FACTS_H

#include "process/code_map.h"
#include "collect/bpf/bpf_source.h"
#include "collect/recording_facts.h"

/* Zero-initialise. */
struct code_facts {
	struct code_map map;
	size_t sent_count; /* of its mappings: their facts are in a batch */
};

/* Looks at all targets of source, children included; those that seem unchanged only if always. What can't be read is left out. */
void code_facts_look(struct code_facts *code, const struct bpf_source *source, bool always);
/* Adds the facts of what is new since the last time. 0 or -ENOMEM. */
int code_facts_put(struct code_facts *code, struct recording_facts *facts, struct batch *batch);
void code_facts_free(struct code_facts *code);

#endif
