/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The spans of USDT probes that a thread has open, and where its records are built. */
#ifndef GPUPROBE_BPF_USDT_THREAD_H
#define GPUPROBE_BPF_USDT_THREAD_H

#include "types.h"
#include "usdt.h"

struct usdt_open {
	u64 ts;
	u64 sp;
	u32 site;
	u32 begin; /* fact of the probe that began it */
	u32 name;  /* text id */
	u32 args_bytes;
	u32 stack;
	u32 pad;
};

/* What is built here for the ring; sp of a program has no room for it. */
struct usdt_scratch {
	union {
		struct record_usdt_span span;
		struct {
			u8 unused[sizeof(struct record_usdt_span) -
				  sizeof(struct record_usdt_point)];
			struct record_usdt_point point;
		};
	};
	u8 args[2 * USDT_ARGS_BYTES]; /* of the beginning, then of the end */
	u8 room[sizeof(struct record_arg) +
		2 * USDT_STRING_BYTES]; /* for the verifier: never reached */
};

/* Only of threads that hit a USDT probe. */
struct usdt_thread {
	u32 depth;
	u32 stack; /* of the hit; 0: none was taken */
	u64 registers[USDT_REGISTERS];
	struct usdt_scratch scratch;
	struct usdt_open open[USDT_DEPTH_MAX];
};
/* From 6.19 on more is not to be had for a thread (kmalloc_nolock()), with what the kernel puts before it. */
_Static_assert(sizeof(struct usdt_thread) <= 8192 - 128, "storage of a thread");

#endif
