/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Has the interpreters of targets probed where code objects of Python end (bpf/python_ends.bpf.c): what a stack leads to need be read only once
 * between two ends. Where that can't be, or they end all the time, each is read each time, which is as right and takes longer.
 */
#ifndef GPUPROBE_SESSION_PYTHON_ENDS_H
#define GPUPROBE_SESSION_PYTHON_ENDS_H

#include "collect/bpf/bpf_source.h"
#include "process/code_map.h"
#include "python/python_find.h"

#define PYTHON_ENDS_MAX 64 /* processes; a probe each */

/* Zero-initialise. Main thread. */
struct python_ends {
	struct python_ends_process {
		u32 pid;
		struct uprobe_set probe;
		u64 generation, since_ns; /* when its ends were looked at last */
	} items[PYTHON_ENDS_MAX];
	size_t count;
	u32 number; /* of the last one's generation */
	size_t function_file; /* in the code map: that which was seen to be a function last, */
	u64 function_offset;  /* and where in it that is; 0: none was */
};

bool python_ends_has_room(const struct python_ends *ends, const struct bpf_source *source);
/* Only where there is room. In a process of which the BPF programs have the interpreter; files: what is known of those of the map. What fails is logged. Blocks some ms. */
void python_ends_count(struct python_ends *ends, const struct bpf_source *source, const struct code_map *map,
		       const struct python_files *files, u32 pid);
/* Some times a second: takes a probe out of a process that has ended, or where it costs more than it saves. Blocks there: some 50 ms. */
void python_ends_look(struct python_ends *ends, const struct bpf_source *source, u64 now_ns);
/* No longer; moves the probes to a set that the caller detaches. What there is no memory for stays for the next one. */
void python_ends_hand_over(struct python_ends *ends, const struct bpf_source *source, struct uprobe_set *to);
void python_ends_free(struct python_ends *ends);

#endif
