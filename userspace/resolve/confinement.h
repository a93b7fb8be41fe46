/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes from a process what it does not need to read files of others. */
#ifndef GPUPROBE_RESOLVE_CONFINEMENT_H
#define GPUPROBE_RESOLVE_CONFINEMENT_H

#include "base/types.h"

/*
 * For a child that was just forked: it ends with its parent, is another user with no capability but to read files, has
 * no descriptors but these, at most so much memory more than now, writes no files. Best effort: what it may not give up, as a
 * process without privileges, it has not got.
 */
void confine(const int *fds, size_t count, u64 memory_bytes);

#endif
