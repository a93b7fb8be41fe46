/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What runs in the target during an injection: one region of memory, first the code page, then the data page,
 * then a stack for the borrowed thread. The code is position independent, needs no symbols, and cleans up after
 * itself whether or not gpuprobe still lives:
 *
 * begin (the borrowed thread): makes the two memfds, stops at a marker for gpuprobe to fill them, then, where
 * `go` was set, starts the thread by pthread_create and leaves the region. Without `go`, or when pthread_create
 * failed, it closes the memfds and unmaps the region. In the end it runs into rt_sigreturn, which would get it back
 * to where it was; gpuprobe stops it there and does that itself, since only the kernel's own way to take up an
 * interrupted system call is exact about signals. Left alone at any point it runs to its end and comes back.
 *
 * thread (our own): dlopen, AGENT_ENTRY, dlclose, and munmap of the region as its last step, which returns
 * straight into the target's libc.
 *
 * The marker is a system call without effect (getpid): gpuprobe sees it as a system call stop, without one nothing
 * happens. (A breakpoint would be a signal, which changes how the target handles SIGTRAP where that is ignored.)
 */
#ifndef GPUPROBE_INJECT_INJECT_CODE_H
#define GPUPROBE_INJECT_INJECT_CODE_H

#include "base/types.h"
#include "../gpu/shared.h"

#define INJECT_PAGE_BYTES    4096
#define INJECT_REGION_BYTES  (128U << 10)
#define INJECT_DATA_OFFSET   INJECT_PAGE_BYTES
#define INJECT_MESSAGE_BYTES 256

enum inject_state {
	INJECT_STATE_NONE = 0,
	INJECT_STATE_STARTED = 1,  /* the thread runs */
	INJECT_STATE_LOADED = 2,   /* dlopen and dlsym worked; the agent is called */
	INJECT_STATE_RETURNED = 3, /* the agent has left */
	INJECT_STATE_FAILED = 4,   /* no dlopen: message */
	INJECT_STATE_CANCELLED = 5,
};

/* The data page. By gpuprobe, but where it says otherwise. */
struct inject_data {
	/* Addresses in the target. */
	u64 pthread_create, pthread_detach, dlopen, dlsym, dlclose, dlerror, munmap;
	u64 syscall_return; /* of an instruction "syscall" with "ret" behind it, outside the region */
	u64 way_back;	    /* stack pointer with which "ret" leads the borrowed thread back */
	u64 region;
	u64 pthread;	    /* by pthread_create */
	u64 returned;	    /* not 0: the borrowed thread is out of the region; by that thread */
	u32 go;		    /* all is prepared: start the thread */
	u32 cancelled;	    /* gpuprobe gave up: leave */
	u32 state;	    /* enum inject_state; by the thread */
	u32 tid;	    /* by the thread, in the target's pid namespace */
	s32 ring_fd, library_fd; /* by the borrowed thread; -1: none, -errno: failed */
	s32 created;	    /* what pthread_create returned; by the borrowed thread */
	u32 memfd_flags, dlopen_flags;
	u32 seen;	    /* gpuprobe has read why the thread failed */
	struct agent_start start;
	char ring_name[16], library_name[16], thread_name[16], entry_name[32];
	char library_path[INJECT_MESSAGE_BYTES];
	char message[INJECT_MESSAGE_BYTES]; /* by the thread: what dlerror said */
};

_Static_assert(sizeof(struct inject_data) <= INJECT_PAGE_BYTES, "the data page is too small");

/* The code page, and where in it those who watch have to look. */
struct inject_code {
	const void *code;
	size_t size_bytes;
	size_t begin_offset;
	size_t files_marker_offset;  /* behind the marker's system call */
	size_t close_offset;	     /* the way out without a thread */
};

struct inject_code inject_code_get(void);

#endif
