/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who of a process uses NVTX: programs and libraries that carry the variable of gpu/nvtx/nvtx_globals.h, found by its shape
 * in the data that they may write to, and libnvToolsExt.so of NVTX 2. Reads the target's memory, changes nothing.
 */
#ifndef GPUPROBE_CUDA_NVTX_USERS_H
#define GPUPROBE_CUDA_NVTX_USERS_H

#include "process/target.h"
#include "base/text.h"

#define NVTX_USERS_MAX 64

enum nvtx_user_state {
	NVTX_USER_FRESH,    /* it has called no function of NVTX so far */
	NVTX_USER_STARTING, /* a thread of it looks for a tool right now */
	NVTX_USER_NOTHING,  /* there was no tool: its calls do nothing */
	NVTX_USER_TOOL,	    /* a tool takes its calls */
	NVTX_USER_GPUPROBE, /* an agent of gpuprobe does */
};

struct nvtx_user {
	u64 address; /* of the variable, in the target */
	enum nvtx_user_state state;
	char module[256]; /* as the target sees it */
	char tool[256];	  /* TOOL: what its pointers lead to; "": no file */
};

struct nvtx_users {
	struct nvtx_user items[NVTX_USERS_MAX];
	size_t count;
	size_t beyond;	      /* further ones */
	char old_library[256]; /* libnvToolsExt.so; "": not mapped */
	bool tool_named;      /* the target was started with NVTX_INJECTION64_PATH */
};

/* 0 or -errno (the process has ended, ...). Blocks for some ms, with gigabytes of such data for longer. */
int nvtx_users_find(const struct target *target, struct nvtx_users *ret_users, struct err *err);

/* Data that was looked at before, twice: a library is mapped before its pointers are in place. Zero-initialise. */
struct nvtx_watch {
	struct nvtx_data {
		u64 start, end, inode;
	} *known[2]; /* by start; [0]: when it was looked at last, [1]: the time before */
	size_t known_count[2];
};

/* The same of what is new. */
int nvtx_watch_look(struct nvtx_watch *watch, const struct target *target, struct nvtx_users *ret_users, struct err *err);
void nvtx_watch_free(struct nvtx_watch *watch);

/* A paragraph for people, indented; nothing where nobody uses NVTX. */
void nvtx_users_append(const struct nvtx_users *users, struct text *text);

/* Calls found for each such variable in bytes, which stand at address (a multiple of 8) in the target. */
struct nvtx_globals;
void nvtx_users_scan(const void *bytes, size_t size, u64 address,
		     void (*found)(void *data, const struct nvtx_globals *globals, u64 address), void *data);

#endif
