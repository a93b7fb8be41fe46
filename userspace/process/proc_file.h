/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small files of /proc/PID. They come from the kernel, but names inside are the target's choice. */
#ifndef GPUPROBE_PROCESS_PROC_FILE_H
#define GPUPROBE_PROCESS_PROC_FILE_H

#include <sys/types.h>

#include "base/types.h"

#define PROC_FILE_MAX_BYTES (512UL << 20) /* maps of a process with millions of mappings still fits */

/* The whole file, NUL-terminated; the caller frees. directory_fd may be AT_FDCWD. -errno. */
int proc_file_read(int directory_fd, const char *path, char **ret_content, size_t *ret_size);
/* The value behind "KEY:" of /proc/PID/status, as a number; false when it has no such line. */
bool proc_status_number(const char *status, const char *key, int base, u64 *ret_value);
/* The number of the process or thread in its own (innermost) pid namespace; 0: /proc/PID/status does not say. */
u32 proc_status_id_in_namespace(const char *status);
/* Does /proc/PID/status say that the thread has a shadow stack (CET), a second copy of its return addresses? */
bool proc_status_has_shadow_stack(const char *status);
/* Where a link points to; the caller frees. -errno. */
int proc_link_read(int directory_fd, const char *path, char **ret_link);
/* st_ino of what path leads to, 0 on failure: two namespaces are the same when theirs are. */
u64 proc_inode(int directory_fd, const char *path);
/* Name of a process for a message, "?" when it is gone. */
void proc_comm(u32 pid, char ret_comm[16]);
/* Field `number` (1: pid, 3: state, ...; as in proc(5)) of /proc/PID/stat; the name in field 2 may hold
 * blanks and parentheses. 0 when it is missing. */
u64 proc_stat_field(const char *stat, unsigned number);

#endif
