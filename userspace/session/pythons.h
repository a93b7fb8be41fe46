/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPython in the targets of a session: tells the BPF programs of interpreters as soon as their frames can be read, and keeps the code objects
 * that stacks lead to.
 */
#ifndef GPUPROBE_SESSION_PYTHONS_H
#define GPUPROBE_SESSION_PYTHONS_H

#include "collect/bpf/bpf_source.h"
#include "python/python_codes.h"
#include "python/python_find.h"

/* Zero-initialise. */
struct pythons {
	struct python_files files;
	struct map looked;	   /* pid -> what it mapped when it was looked at last; */
	struct map tries;	   /* and how often since then, PYTHON_SETTLED: it will not be any more */
	struct map refused;	   /* pid -> those whose frames are not read, for good: so many, and why of the first one */
	u64 refused_count;
	struct err refused_first;
	struct python_codes codes; /* the drain thread's until it is joined */
};

/* At each look at what targets map. Main thread. What fails costs frames of Python, not the recording: it is logged. */
void pythons_look(struct pythons *pythons, const struct bpf_source *source, const struct code_map *map);
void pythons_free(struct pythons *pythons);

#endif
