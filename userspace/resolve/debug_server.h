/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug files of stripped ones from the servers that DEBUGINFOD_URLS names, by elfutils' libdebuginfod, where it is installed.
 *
 * What a server sends is a stranger's: it is fetched by a process of its own (nobody, without capabilities, with a bound on its
 * memory and files), which is ended when its time is over, and only ever read by the one that looks names up.
 */
#ifndef GPUPROBE_RESOLVE_DEBUG_SERVER_H
#define GPUPROBE_RESOLVE_DEBUG_SERVER_H

#include "base/err.h"
#include "base/types.h"
#include "elf/elf_file.h"

enum debug_answer {
	DEBUG_NOT_ASKED, /* time or bytes were over before */
	DEBUG_FOUND,	 /* fd has all of it */
	DEBUG_UNKNOWN,	 /* no server has it */
	DEBUG_FAILED,	 /* no server could be asked */
	DEBUG_TOO_LARGE,
};

struct debug_wish {
	u8 build_id[ELF_BUILD_ID_MAX_BYTES];
	size_t build_id_bytes;
	int fd; /* an empty file, which it is written into */
	u8 answer; /* DEBUG_*, set by debug_server_ask() */
	int error; /* of DEBUG_FAILED: -errno */
	u64 bytes; /* of DEBUG_FOUND */
};

struct debug_server_limits {
	u64 time_ns, bytes; /* of all wishes together */
};

/* Does DEBUGINFOD_URLS name any? */
bool debug_server_is_set(void);

/* In their order. Ends early on a signal that stops us. 0; -ENOENT: libdebuginfod is not installed; or another -errno, with
 * what to do. What was found until then is there in each case. Blocks for limits->time_ns at most and a little. */
int debug_server_ask(struct debug_wish *wishes, size_t count, const struct debug_server_limits *limits, struct err *err);

#endif
