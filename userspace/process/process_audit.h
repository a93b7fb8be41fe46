/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process has: threads, descriptors, mappings; taken twice and compared, it shows what somebody left
 * behind. A busy process changes by itself, so the difference is told apart: what is ours, and the rest. Ours is what
 * we put in: names prove nothing, since the process can give its own files and threads the same ones.
 */
#ifndef GPUPROBE_PROCESS_PROCESS_AUDIT_H
#define GPUPROBE_PROCESS_PROCESS_AUDIT_H

#include <sys/types.h>

#include "base/err.h"
#include "base/text.h"
#include "process/process_holdings.h"

/* What was put into a process. */
struct process_own {
	dev_t device; /* of the memfds */
	ino_t ring_inode, library_inode; /* 0: not made yet */
	const char *resident_memfd;	 /* how the names of those begin that may stay; NULL: none may */
	u32 tid;			 /* of the agent's thread, as the host sees it; 0: not known */
};

struct process_audit {
	size_t thread_count, own_thread_count;
	size_t fd_count, own_fd_count;
	size_t mapping_count, own_mapping_count;
	size_t resident_mapping_count; /* of memfds that may stay, whoever put them in */
	size_t executable_mapping_count; /* code: files and anonymous */
	struct process_holdings holdings;
};

/* pid: as the host sees it. own: NULL before anything was put in. -ESRCH when it is gone. To be freed. */
int process_audit_take(u32 pid, const struct process_own *own, struct process_audit *ret_audit, struct err *err);
/* "threads 5 = 5, descriptors 58 = 58, mappings 301 -> 303 (code 40 = 40), ours left: none; new: 2 mappings of ..." */
void process_audit_compare(const struct process_audit *before, const struct process_audit *after,
			   struct text *text);
void process_audit_free(struct process_audit *audit);
#define _cleanup_process_audit_ __attribute__((cleanup(process_audit_free)))

#endif
