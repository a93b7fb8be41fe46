/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Putting right what breakpoints have done to code that a process wrote itself (docs/uprobes.md). What can't be told for certain is left
 * as it is.
 */
#ifndef GPUPROBE_SESSION_CODE_REPAIR_H
#define GPUPROBE_SESSION_CODE_REPAIR_H

#include "session/probed_pieces.h"

/* Jumps over the entries of functions, of which the first byte is the kernel's breakpoint, or the file's again: gets the first byte of the
 * jump. How many. */
size_t code_repair_jumps(const struct target *target, struct code_memory *memory,
			 struct probed_pieces *pieces);
/* Breakpoints in [start, end) that nobody knows of, since they are copies of those that were there: get the file's byte, where all around
 * them is as in the file, and it was not in between, or (moved: something was just done to the mappings) another mapping lies there by now.
 * What is put there later is somebody's own. Notes in pieces what is not as in the file.
 * How many. */
size_t code_repair_copies(const struct target *target, const struct code_memory *memory,
			  struct probed_pieces *pieces, u64 start, u64 end, bool moved);

#endif
