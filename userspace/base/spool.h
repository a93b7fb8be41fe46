/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes that are appended to many places at once and read back as a whole, in little memory: each spool keeps its last
 * chunk, full chunks go to one file without a name (base/temporary_file.h) that all spools of a store share; to memory, as much as the store
 * has to spare, where that file has no room.
 */
#ifndef GPUPROBE_BASE_SPOOL_H
#define GPUPROBE_BASE_SPOOL_H

#include "base/err.h"
#include "base/types.h"

struct spool_store {
	int fd; /* -1: nothing was too much for memory yet, or no file could be made */
	u64 size_bytes;
	u64 spare_bytes; /* of memory, for what there is no room for in a file */
	bool has_no_room; /* in a file, for more */
};

#define SPOOL_STORE_INIT {.fd = -1}

/* For what is worth memory where temporary files have no room: what can't be done without. */
#define SPOOL_SPARE_BYTES	(64ULL << 20)
#define SPOOL_STORE_INIT_SPARED {.fd = -1, .spare_bytes = SPOOL_SPARE_BYTES}

struct spool_extent {
	u64 offset_bytes;
	u64 size_bytes;
	u8 *memory; /* NULL: it lies in the file, from offset_bytes on */
};

/* Zero-initialise it. */
struct spool {
	u8 *chunk;
	size_t used_bytes, capacity_bytes;
	struct spool_extent *extents; /* in order; the chunk comes behind them */
	size_t extent_count, extent_capacity;
	u64 size_bytes; /* of all that was appended */
};

/* The end of the spools' life is the caller's; NULL is no store. */
void spool_store_close(struct spool_store *store);

/* Room for the next size_bytes, contiguous, to be filled before the next call. May write to the file. */
int spool_reserve(struct spool *spool, struct spool_store *store, size_t size_bytes, u8 **ret_room, struct err *err);

/* Gives everything in order, in pieces; stops at the first that is negative, and returns it. */
typedef int (*spool_callback)(void *data, const void *bytes, size_t size_bytes);
int spool_read(const struct spool *spool, const struct spool_store *store, spool_callback callback, void *data,
	       struct err *err);
void spool_free(struct spool *spool);

/* Gives what was appended, one piece at a time. Zero-initialise it but for spool and store, which must stay as they are. */
struct spool_reader {
	const struct spool *spool;
	const struct spool_store *store;
	u8 *piece;
	size_t piece_bytes, place_bytes; /* read of the file at last, and how much of it was given */
	size_t extent;
	u64 done_bytes; /* of this extent, or of the chunk behind the last one */
};

/* The next piece, of the size that it was appended with. 1: ret_bytes are valid until the next call; 0: there are no more. */
int spool_next(struct spool_reader *reader, size_t size_bytes, const void **ret_bytes, struct err *err);
void spool_reader_free(struct spool_reader *reader);

#endif
