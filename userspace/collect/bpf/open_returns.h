/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Puts frames right that were open when the probes were taken out: until they return, the return address on the
 * stack is that of the kernel's trampoline, and an exception through them ends the process.
 */
#ifndef GPUPROBE_COLLECT_BPF_OPEN_RETURNS_H
#define GPUPROBE_COLLECT_BPF_OPEN_RETURNS_H

#include "collect/bpf/bpf_source.h"

struct open_returns {
	u64 put_back_count;
	u64 thread_count; /* threads in which some were to be put back... */
	u64 left_count;	  /* ...of them: with frames that are as they were, and why the last of them */
	int left_error;
};

/* Only after detaching. Stops each such thread of the targets, and of what they have forked, for a fraction of a
 * millisecond, one after the other; takes some seconds at most. */
void open_returns_put_back(struct bpf_source *source, struct open_returns *ret_result);

#endif
