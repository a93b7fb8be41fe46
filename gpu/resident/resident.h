/* SPDX-License-Identifier: MIT */
/*
 * What CUPTI may call when the agent is long gone. A pointer once given to CUPTI cannot be taken back for certain, so
 * CUPTI never gets one into the agent's library, but into two pages that are never freed: a mapping named
 * memfd:gpuprobe-resident, 8 KiB. Each entry counts its caller in, jumps through a slot to the agent, counts it out;
 * without an agent it does what harms nobody. A later agent, of any version, finds the pages and uses them again.
 * Libc's lists of what exit() and fork() call cannot be shortened either: they have entries here.
 * What the target's users of NVTX call is given entries there for the same reason: one for each function, of 16 bytes.
 *
 * The pages are a private mapping: a fork()ed child has its own.
 */
#ifndef GPUPROBE_GPU_RESIDENT_H
#define GPUPROBE_GPU_RESIDENT_H

/* Also read by resident_x86_64.S. */
#define RESIDENT_CODE_BYTES	 4096
#define RESIDENT_BYTES		 8192
#define RESIDENT_MAGIC		 0x746e656469736572 /* "resident" */
#define RESIDENT_VERSION	 4
#define RESIDENT_ENTRY_BYTES	 256
#define RESIDENT_ENTRY_TIMESTAMP 0
#define RESIDENT_ENTRY_REQUESTED 1
#define RESIDENT_ENTRY_COMPLETED 2
#define RESIDENT_ENTRY_CALLBACK	 3
/* Behind those of NVTX. */
#define RESIDENT_ENTRY_EXIT	 9
#define RESIDENT_ENTRY_FORKED	 10

#define RESIDENT_OFFSET_VERSION	 8
#define RESIDENT_OFFSET_USERS	 16
#define RESIDENT_OFFSET_AGENT	 24
#define RESIDENT_OFFSET_REQUESTED 32
#define RESIDENT_OFFSET_COMPLETED 40
#define RESIDENT_OFFSET_CALLBACK 48
#define RESIDENT_OFFSET_CLOCK	 56
#define RESIDENT_OFFSET_SPARE	 64
#define RESIDENT_OFFSET_SPARE_BYTES 72
#define RESIDENT_OFFSET_NVTX_USERS   80
#define RESIDENT_OFFSET_NVTX_SESSION 88
#define RESIDENT_OFFSET_NVTX_SLOTS   96
#define RESIDENT_OFFSET_NVTX_RESULTS 608
#define RESIDENT_OFFSET_PROCESS_USERS 1120
#define RESIDENT_OFFSET_EXIT	     1128
#define RESIDENT_OFFSET_FORKED	     1136
#define RESIDENT_OFFSET_PROCESS_AGENT 1144
#define RESIDENT_OFFSET_CLOCK_ID     1152

#define RESIDENT_NVTX_ENTRIES	    64
#define RESIDENT_NVTX_ENTRY_BYTES   16
#define RESIDENT_NVTX_ENTRIES_BEGIN 1024

#ifndef __ASSEMBLER__

#include "../base/cupti_callbacks.h"

struct agent;
struct cupti_session;
struct nvtx_session;

/* A function of NVTX: up to three arguments, the session behind them, whatever it returns. */
typedef u64 (*nvtx_slot)(u64 first, u64 second, u64 third, struct nvtx_session *session);

/* Where the entries lead to; each with the session as its last argument. NULL: nowhere. */
struct resident_slots {
	struct cupti_session *session;
	void (*requested)(u8 **buffer, size_t *bytes, size_t *records_max, struct cupti_session *session);
	void (*completed)(u64 first, u64 second, u64 third, u64 fourth, u64 fifth, struct cupti_session *session);
	void (*callback)(void *data, u32 domain, u32 callback, const void *call, struct cupti_session *session);
};

/* What the process itself does; NULL: nothing follows. */
struct resident_process {
	void (*exit)(struct agent *agent);   /* in the thread that calls exit() */
	void (*forked)(struct agent *agent); /* in a child of fork() */
	struct agent *agent;
};

/* The second page. */
struct resident_data {
	u64 magic;
	u32 version;
	u32 pid;   /* whose the count of users is */
	u64 users; /* threads that are inside the entries now */
	struct resident_slots slots;
	void *clock_gettime; /* libc's, which is never unloaded; NULL: by system call */
	void *spare; /* handed to CUPTI as a buffer when there is no agent; NULL: CUPTI gets none */
	u64 spare_bytes;
	/* Apart from users, so that neither waits for the other. */
	u64 nvtx_users;
	struct nvtx_session *nvtx_session;
	nvtx_slot nvtx_slots[RESIDENT_NVTX_ENTRIES];
	u64 nvtx_results[RESIDENT_NVTX_ENTRIES]; /* what an entry returns without an agent */
	u64 process_users;
	struct resident_process process;
	u32 clock_id; /* of which CUPTI is told the time: CLOCK_MONOTONIC, or as if nobody told it */
	u32 pad;
	void *exit_registered; /* behind which library the entry was: exit() calls it before that library's destructors */
	bool fork_registered;
};

struct resident {
	u8 *code;
	struct resident_data *data;
};

/* Finds the pages of an earlier agent, or makes them. 0 or -errno. */
int resident_open(struct resident *resident);
/* In a child of fork(): it has no agent. Threads that are inside are still counted in. */
void resident_forget(const struct resident *resident);
/* Before 12.9 CUPTI can crash when it asks for a buffer and gets none: from now on it gets one that nobody reads,
 * 64 KiB which are never freed. */
void resident_keep_spare(const struct resident *resident);
/* From now on calls reach the agent. false: they reach another one, and go on doing so. */
bool resident_connect(const struct resident *resident, const struct resident_slots *slots);
/* From now on they do not. false: after timeout_ms there was still a thread in the agent: it must stay mapped. */
bool resident_disconnect(const struct resident *resident, u32 timeout_ms);

/*
 * From now on the agent is told of exit(), before the destructors of a library (its handle; NULL: of none) that is loaded by now, and of
 * fork(), in the child. Libc never forgets the entries, so they are given to it once. Where libc can't do that: nothing.
 */
void resident_connect_process(const struct resident *resident, const struct resident_process *process, void *library);
/* From now on it is not. false: after timeout_ms there was still a thread in the agent: it must stay mapped. */
bool resident_disconnect_process(const struct resident *resident, u32 timeout_ms);

/* The same for users of NVTX: slots and results of RESIDENT_NVTX_ENTRIES functions, NULL: nowhere. false: another
 * agent has them. */
bool resident_connect_nvtx(const struct resident *resident, struct nvtx_session *session, const nvtx_slot *slots,
			   const u64 *results);
bool resident_disconnect_nvtx(const struct resident *resident, u32 timeout_ms);
/* What the word of NVTX's function with this number gets. */
u64 resident_nvtx(const struct resident *resident, u32 number);
/* Does a word lead there? */
bool resident_has_nvtx(const struct resident *resident, u64 word);

/* What CUPTI gets; this one gives it CLOCK_MONOTONIC, */
u64 (*resident_timestamp(const struct resident *resident))(void);
/* and from now on CLOCK_REALTIME, as CUPTI reads it where it has no callback. */
void resident_tell_realtime(const struct resident *resident);
cupti_requested resident_requested(const struct resident *resident);
cupti_completed resident_completed(const struct resident *resident);
cupti_api_callback resident_callback(const struct resident *resident);

#endif
#endif
