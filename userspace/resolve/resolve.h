/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for the addresses of stacks: functions by the symbols of the files that are mapped there (also of separate debug files
 * and .gnu_debugdata), inlined functions and lines by DWARF, code that a process makes (JIT) by its perf-PID.map. What no
 * symbol covers stays without a name.
 *
 * All of these files are the target's and untrusted, and DWARF is read by a library that was written for files of one's own:
 * so it is done by a process of its own, without privileges but to read files, with a bound on its memory, and ended when
 * its time is over. What it has found until then counts; a file on which it dies is left out.
 */
#ifndef GPUPROBE_RESOLVE_RESOLVE_H
#define GPUPROBE_RESOLVE_RESOLVE_H

#include "base/err.h"
#include "base/types.h"

/* A range of code of a process, for the time in which it was seen there. */
struct resolve_mapping {
	u32 pid;
	u32 id; /* the caller's */
	u64 start, end, file_offset;
	u64 first_seen_ns, last_seen_ns;
	const char *path; /* as the process sees it; "[vdso]" and the like; "": anonymous */
	int fd;		  /* -1: no file, or not to be had */
};

struct resolve_process {
	u32 pid;
	u32 pid_in_namespace; /* in the name of its perf-PID.map; 0: pid */
	u32 uid;	      /* whose such a file must be */
	int root_fd;	      /* its root folder, for debug files and JIT maps; -1: ours */
};

struct resolve_address {
	u64 address; /* of an instruction */
	u64 first_ns, last_ns; /* when it was seen */
	u32 pid;
};

struct resolve_input {
	const struct resolve_mapping *mappings;
	size_t mapping_count;
	const struct resolve_process *processes;
	size_t process_count;
	const struct resolve_address *addresses; /* each once a process */
	size_t address_count;
};

/* Debug files from servers, for files that are stripped; all zero: none is asked. */
struct resolve_debug {
	const char *folder; /* where they are kept, NULL: nowhere */
	u64 time_ns, bytes; /* of all that is fetched */
	void (*on_ask)(size_t count); /* before so many are asked for; may be NULL */
};

struct resolve_debug_status {
	u64 kept_count, fetched_count; /* files */
	u64 unknown_count; /* to all servers */
	u64 refused_count; /* of those that were found: the debug files of something else */
	u64 failed_count, cut_count; /* nobody could be asked; time or bytes were over */
	u64 fetched_bytes;
	u64 took_ns;
	int error; /* -errno: of one that failed */
	struct err err; /* why none could be asked; empty: they could */
};

struct resolve_limits {
	u64 time_ns;	    /* for all of it but debug files from servers, and then once more with them */
	u64 memory_bytes;   /* of the other process, more than ours */
	u64 debug_max_bytes; /* debug information of a file that has more is not read */
	struct resolve_debug debug;
};

/* What stands at an address; valid during the callback. */
struct resolve_frame {
	size_t address; /* index in the input */
	u32 mapping;	/* id, 0: none */
	u32 line;	/* 0: unknown */
	u64 file_address; /* ~0: unknown */
	u32 offset_bytes; /* behind the start of the function, ~0: unknown */
	u8 level;	  /* 0: the innermost function; n: what n - 1 is inlined into */
	u8 origin;	  /* VALUE_frame_origin_*, 0: no name */
	bool inlined;	  /* into the next level */
	bool begins;	  /* threads or processes begin in it */
	bool caller_missing; /* the chain of frame pointers leaves its caller out */
	const char *name; /* demangled, without parameters; "": none */
	const char *file; /* "": unknown */
};

struct resolve_status {
	u64 named_count, unnamed_count; /* addresses */
	u64 cut_count; /* of them, those that would have been looked up further */
	u64 took_ns;
	struct resolve_debug_status debug;
};

/* Calls back for every address that lies in a mapping: once for each level, innermost first. 0 or the callback's negative
 * result, -ENOMEM. Blocks for limits->time_ns at most and a little, where
 * files are stripped and there are servers for limits->debug.time_ns and limits->time_ns more. No other thread may hold a lock of libelf. */
int resolve_frames(const struct resolve_input *input, const struct resolve_limits *limits,
		   int (*callback)(void *data, const struct resolve_frame *frame), void *data,
		   struct resolve_status *ret_status, struct err *err);

#endif
