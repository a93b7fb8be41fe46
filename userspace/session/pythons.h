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
#include "session/python_ends.h"

/* Zero-initialise. */
struct pythons {
	struct python_files files;
	struct map known;	   /* (pid, field) -> what is known of those that were looked at */
	u64 refused_count;	   /* processes whose frames are not read, for good; */
	struct err refused_first;  /* and why, of the first one */
	struct err wrong;	   /* why frames of a process are none, the last time that there was one */
	struct python_ends ends;
	struct python_codes codes; /* the drain thread's until it is joined */
};

/* At each look at what targets map. Main thread. What fails costs frames of Python, not the recording: it is logged. */
void pythons_look(struct pythons *pythons, const struct bpf_source *source, const struct code_map *map);
/* When the window is over: what was to be looked at again is refused, too. */
void pythons_end(struct pythons *pythons, const struct code_map *map);
/* The probes in them, which the caller detaches. */
void pythons_hand_over(struct pythons *pythons, const struct bpf_source *source, struct uprobe_set *to);
void pythons_free(struct pythons *pythons);

#endif
