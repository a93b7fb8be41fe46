/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For code of others that has to be run: a process that can compute, and tell what came out, and nothing else. */
#ifndef GPUPROBE_PROCESS_SANDBOX_H
#define GPUPROBE_PROCESS_SANDBOX_H

#include "base/types.h"

/*
 * Leaves this process, for ever, the system calls that the dynamic loader needs to load a library, and memory, clocks and locks: sandbox.def.
 * Files can be opened for reading only, and only result_fd be written to; no processes, threads, sockets, signals, devices.
 * Whatever else fails with EPERM. 0 or -errno: then nothing is forbidden.
 */
int sandbox_enter(int result_fd);

#endif
