/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Can a file be loaded as a library? What dlopen() does not look at kills the process that calls it: SIGBUS at the first
 * page that a file cut short does not have. */
#ifndef GPUPROBE_PROCESS_LIBRARY_FILE_H
#define GPUPROBE_PROCESS_LIBRARY_FILE_H

#include "base/err.h"

/* path: below root_fd, also for the message. Does not block on what is no file. 0; -ENOENT; -ENOEXEC with the reason: no
 * plain file, no shared library for x86-64, cut short. */
int library_file_check(int root_fd, const char *path, struct err *err);

#endif
