/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Restartable sequences (rseq(2)): the kernel has a thread that it interrupts in one begin it anew, by where it is: it must not be elsewhere then. */
#ifndef GPUPROBE_INJECT_INJECT_SEQUENCE_H
#define GPUPROBE_INJECT_INJECT_SEQUENCE_H

#include "base/types.h"

/* Is a traced and stopped thread in one, at this address? True also where that can't be told. */
bool inject_sequence_is_at(u32 tid, int memory_fd, u64 at);

#endif
