/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does the chain of frame pointers lead from a place in a function to who called it? By the unwind tables (.eh_frame), which
 * stripped files have too.
 */
#ifndef GPUPROBE_RESOLVE_FRAME_CHAIN_H
#define GPUPROBE_RESOLVE_FRAME_CHAIN_H

#include "base/types.h"

struct frame_chain;

/* fd stays the caller's and must stay open. NULL: no tables, or no memory. */
struct frame_chain *frame_chain_open(int fd);
/* True: the frame pointer there is not the function's own, so the chain leaves out its caller. False too where nothing is known. */
bool frame_chain_leaves_out_caller(struct frame_chain *chain, u64 address);
struct frame_chain *frame_chain_close(struct frame_chain *chain); /* NULL allowed; returns NULL */

#endif
