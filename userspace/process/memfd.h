/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files in memory that a target maps code from. */
#ifndef GPUPROBE_PROCESS_MEMFD_H
#define GPUPROBE_PROCESS_MEMFD_H

#include "base/types.h"

/* Flags for memfd_create() of a file that code is mapped from, whatever vm.memfd_noexec says. */
u32 memfd_flags(void);
/* All of from_fd, from its beginning. */
int memfd_copy(int fd, int from_fd);
/* From here on nobody changes it. */
int memfd_seal(int fd);

#endif
