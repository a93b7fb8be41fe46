/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Has a libcublasLt its objects in memory as bpf/matmul.h says? The library itself is asked: it is loaded into a process of its own, makes
 * objects there, and what these hold is compared. The file is the target's, so what it does when it is loaded may be anything: that
 * process is another user without capabilities, in a sandbox (process/sandbox.h), with bounds on time and memory, and of what it says
 * one of three words is taken. The target is not touched.
 */
#ifndef GPUPROBE_PLAN_CUBLASLT_CHECK_H
#define GPUPROBE_PLAN_CUBLASLT_CHECK_H

#include <sys/types.h>

#include "base/err.h"
#include "base/types.h"

enum cublaslt_verdict {
	CUBLASLT_UNTRIED, /* it could not be asked */
	CUBLASLT_SAME,
	CUBLASLT_OTHER, /* its objects are others */
};

struct cublaslt_check {
	pid_t pid; /* 0: there is no process */
	int pipe_fd;
	u64 deadline_ns;
};

/* Does the file, by its name, have to be asked? */
bool cublaslt_is_library(const char *path);
/* Begins to ask the library behind library_fd, which stays the caller's. The other process, where one could be made, goes on until
 * cublaslt_check_end() or cublaslt_check_cancel(). */
void cublaslt_check_begin(int library_fd, struct cublaslt_check *ret_check);
/* Waits for the answer, until a second after the begin at most. UNTRIED: why says the reason. */
enum cublaslt_verdict cublaslt_check_end(struct cublaslt_check *check, struct err *why);
void cublaslt_check_cancel(struct cublaslt_check *check); /* also after the end */

#endif
