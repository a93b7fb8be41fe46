/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What capture_reader.c found out about a capture and capture_cursor.c works from; for these and capture_ahead.c only. */
#ifndef GPUPROBE_STORE_CAPTURE_BLOCKS_H
#define GPUPROBE_STORE_CAPTURE_BLOCKS_H

#include "store/capture_format.h"
#include "store/capture_reader.h"
#include "store/convert.h"
#include "store/facts.h"

/* A good block of events. */
struct capture_block {
	u64 offset; /* of its payload */
	u64 first_ns;
	u32 payload_bytes;
	u32 place; /* among the blocks of the file, for ties */
};

struct capture_reader {
	int fd;
	bool cut;
	struct schema_table foreign;
	struct convert *convert;
	struct renumber *renumber;
	struct facts *facts;
	struct capture_block *blocks; /* by first_ns, then place */
	size_t block_count;
	size_t block_capacity;
	u64 first_ns, last_ns; /* first > last: no events */
	u64 losses[32];	       /* by loss reason */
};

/*
 * The record at `raw`, of which `available` bytes are there, in the layout of this build, as convert_record() gives it: not
 * yet renumbered. raw is memory of the caller's own: nobody changes it after it was checked.
 * 1: in *ret_record; 0: a kind that we do not know; -EINVAL: damaged, but the next one begins raw->size_bytes on;
 * -EBADMSG: damaged, and where the next one begins cannot be known; -ENOMEM.
 */
int capture_check_event(const struct capture_reader *reader, struct record_header *raw, size_t available,
			u64 not_before_ns, struct convert_room *room, struct record_header **ret_record);

#endif
