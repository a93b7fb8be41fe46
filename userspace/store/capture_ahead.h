/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events of a capture in time order, as capture_cursor gives them; of a large one a thread of its own reads, checks
 * and orders what comes next while the caller uses what is there. Memory: 1 MiB more than a cursor.
 */
#ifndef GPUPROBE_STORE_CAPTURE_AHEAD_H
#define GPUPROBE_STORE_CAPTURE_AHEAD_H

#include "store/capture_reader.h"

struct capture_ahead;

/* Below this many bytes of events there is no thread. */
#define CAPTURE_AHEAD_BYTES_MIN (4ULL << 20)

/* bytes_min: CAPTURE_AHEAD_BYTES_MIN. Where no thread can be had there is none, which only takes longer. */
int capture_ahead_open(struct capture_reader *reader, u64 bytes_min, struct capture_ahead **ret_ahead,
		       struct err *err);
/* As capture_cursor_next(): 1 and a record that is valid until the next call; 0 at the end, and then again; -errno. May
 * wait for the thread. */
int capture_ahead_next(struct capture_ahead *ahead, const struct record_header **ret_record, struct err *err);
/* At any time; waits until the thread has ended. NULL is none. */
struct capture_ahead *capture_ahead_free(struct capture_ahead *ahead);

#endif
