/*
 * What a process has: threads, descriptors, mappings; taken twice and compared, it shows what somebody left
 * behind. A busy process changes by itself, so the difference is told apart: what bears our names, and the rest.
 */
#ifndef GPUPROBE_ATTACH_PROCESS_AUDIT_H
#define GPUPROBE_ATTACH_PROCESS_AUDIT_H

#include "base/err.h"
#include "base/text.h"

/* Mappings, descriptors and threads of our agents bear a name that begins so. */
#define PROCESS_AUDIT_OWN_PREFIX "gpuprobe-"

struct process_audit {
	size_t thread_count, own_thread_count;
	size_t fd_count, own_fd_count;
	size_t mapping_count, own_mapping_count;
	size_t executable_mapping_count; /* code: files and anonymous */
};

/* pid: as the host sees it. -ESRCH when it is gone. */
int process_audit_take(u32 pid, struct process_audit *ret_audit, struct err *err);
/* "threads 5 = 5, descriptors 58 = 58, mappings 301 -> 303 (code 40 = 40), ours left: none" */
void process_audit_compare(const struct process_audit *before, const struct process_audit *after,
			   struct text *text);
/* Anything that bears our names? */
bool process_audit_own(const struct process_audit *audit);

#endif
