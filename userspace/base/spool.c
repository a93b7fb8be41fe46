/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/temporary_file.h"

/* There may be thousands of spools, most of them short. */
#define FIRST_CHUNK_BYTES 1024
#define CHUNK_BYTES	  (64 * 1024)
#define PIECE_BYTES	  (256 * 1024)

void spool_store_close(struct spool_store *store)
{
	if (store && store->fd >= 0)
		close(store->fd);
	if (store)
		*store = (struct spool_store)SPOOL_STORE_INIT;
}

static int write_chunk(const struct spool *spool, struct spool_store *store, struct err *err)
{
	int result = store->fd < 0 ? temporary_file_open(&store->fd, err) : 0;

	if (result < 0)
		return result;
	result = file_write(store->fd, spool->chunk, spool->used_bytes);
	if (result < 0)
		return err_errno(err, result,
				 "can't write a temporary file. Set TMPDIR to a folder with space");
	return 0;
}

/* Behind everything else. */
static int spill_to_file(struct spool *spool, struct spool_store *store, struct err *err)
{
	struct spool_extent *last =
		spool->extent_count ? &spool->extents[spool->extent_count - 1] : NULL;
	int result = write_chunk(spool, store, err);

	if (result < 0)
		return result;
	if (last && last->offset_bytes + last->size_bytes == store->size_bytes)
		last->size_bytes += spool->used_bytes;
	else
		spool->extents[spool->extent_count++] =
			(struct spool_extent){store->size_bytes, spool->used_bytes, NULL};
	store->size_bytes += spool->used_bytes;
	spool->used_bytes = 0;
	return 0;
}

/* The chunk itself is what stays. */
static int spill_to_memory(struct spool *spool, struct spool_store *store, struct err *err)
{
	if (spool->capacity_bytes > store->spare_bytes)
		return err_set(err, -ENOSPC,
			       "there is more to keep than memory is spared for, and no room in a "
			       "temporary file. Set TMPDIR to a folder with space");
	store->spare_bytes -= spool->capacity_bytes;
	spool->extents[spool->extent_count++] =
		(struct spool_extent){.size_bytes = spool->used_bytes, .memory = spool->chunk};
	spool->chunk = NULL;
	spool->used_bytes = spool->capacity_bytes = 0;
	return 0;
}

/* A file that was full is written to no more: what was begun there is no chunk. */
static int spill(struct spool *spool, struct spool_store *store, struct err *err)
{
	int result;

	if (array_reserve(&spool->extents, &spool->extent_capacity, spool->extent_count + 1) < 0)
		return err_errno(err, -ENOMEM, "can't keep an output's events");
	result = store->has_no_room ? 0 : spill_to_file(spool, store, err);
	if (store->spare_bytes && temporary_file_is_failure(result)) {
		store->has_no_room = true;
		*err = (struct err){0};
	}
	return store->has_no_room ? spill_to_memory(spool, store, err) : result;
}

static int grow(struct spool *spool, size_t needed_bytes, struct err *err)
{
	size_t capacity = spool->capacity_bytes ? spool->capacity_bytes : FIRST_CHUNK_BYTES;
	u8 *chunk;

	while (capacity < needed_bytes)
		capacity *= 2;
	if (capacity == spool->capacity_bytes)
		return 0;
	chunk = realloc(spool->chunk, capacity);
	if (!chunk)
		return err_errno(err, -ENOMEM, "can't keep an output's events");
	spool->chunk = chunk;
	spool->capacity_bytes = capacity;
	return 0;
}

int spool_reserve(struct spool *spool, struct spool_store *store, size_t size_bytes, u8 **ret_room,
		  struct err *err)
{
	int result = 0;

	if (spool->used_bytes && spool->used_bytes + size_bytes > CHUNK_BYTES)
		result = spill(spool, store, err);
	if (result == 0)
		result = grow(spool, spool->used_bytes + size_bytes, err);
	if (result < 0)
		return result;
	*ret_room = spool->chunk + spool->used_bytes;
	spool->used_bytes += size_bytes;
	spool->size_bytes += size_bytes;
	return 0;
}

/* Of an extent, from done_bytes of it on. */
static int read_piece(const struct spool_store *store, const struct spool_extent *extent,
		      u64 done_bytes, u8 *piece, size_t size_bytes, struct err *err)
{
	ssize_t got;

	if (extent->memory) {
		memcpy(piece, extent->memory + done_bytes, size_bytes);
		return 0;
	}
	got = file_read_at(store->fd, piece, size_bytes, extent->offset_bytes + done_bytes);
	if (got != (ssize_t)size_bytes)
		return err_errno(err, got < 0 ? (int)got : -EIO, "can't read a temporary file");
	return 0;
}

static int read_extent(const struct spool_store *store, const struct spool_extent *extent,
		       u8 *piece, spool_callback callback, void *data, struct err *err)
{
	for (u64 done = 0; done < extent->size_bytes;) {
		u64 rest = extent->size_bytes - done;
		size_t wanted = rest < PIECE_BYTES ? rest : PIECE_BYTES;
		int result = read_piece(store, extent, done, piece, wanted, err);

		if (result == 0)
			result = callback(data, piece, wanted);
		if (result < 0)
			return result;
		done += wanted;
	}
	return 0;
}

int spool_read(const struct spool *spool, const struct spool_store *store, spool_callback callback,
	       void *data, struct err *err)
{
	_cleanup_free_ u8 *piece = spool->extent_count ? malloc(PIECE_BYTES) : NULL;
	int result = 0;

	if (spool->extent_count && !piece)
		return err_errno(err, -ENOMEM, "can't read a temporary file");
	for (size_t i = 0; i < spool->extent_count && result >= 0; i++)
		result = read_extent(store, &spool->extents[i], piece, callback, data, err);
	if (result >= 0 && spool->used_bytes)
		result = callback(data, spool->chunk, spool->used_bytes);
	return result < 0 ? result : 0;
}

/* As much of the extent as there is room for, behind the begin of a piece that was read with the one before. */
static int read_ahead(struct spool_reader *reader, struct err *err)
{
	const struct spool_extent *extent = &reader->spool->extents[reader->extent];
	size_t begun = reader->piece_bytes - reader->place_bytes;
	u64 rest = extent->size_bytes - reader->done_bytes;
	size_t wanted = rest < PIECE_BYTES - begun ? rest : PIECE_BYTES - begun;
	int result;

	if (!reader->piece)
		reader->piece = malloc(PIECE_BYTES);
	if (!reader->piece)
		return err_errno(err, -ENOMEM, "can't read a temporary file");
	if (begun)
		memmove(reader->piece, reader->piece + reader->place_bytes, begun);
	result = read_piece(reader->store, extent, reader->done_bytes, reader->piece + begun,
			    wanted, err);
	if (result < 0)
		return result;
	reader->piece_bytes = begun + wanted;
	reader->place_bytes = 0;
	reader->done_bytes += wanted;
	if (reader->done_bytes == extent->size_bytes) {
		reader->extent++;
		reader->done_bytes = 0;
	}
	return 0;
}

int spool_next(struct spool_reader *reader, size_t size_bytes, const void **ret_bytes,
	       struct err *err)
{
	const struct spool *spool = reader->spool;

	if (reader->piece_bytes - reader->place_bytes < size_bytes &&
	    reader->extent < spool->extent_count) {
		int result = read_ahead(reader, err);

		if (result < 0)
			return result;
	}
	if (reader->place_bytes < reader->piece_bytes) {
		*ret_bytes = reader->piece + reader->place_bytes;
		reader->place_bytes += size_bytes;
		return 1;
	}
	if (reader->done_bytes == spool->used_bytes)
		return 0;
	*ret_bytes = spool->chunk + reader->done_bytes;
	reader->done_bytes += size_bytes;
	return 1;
}

void spool_reader_free(struct spool_reader *reader)
{
	free(reader->piece);
	*reader = (struct spool_reader){0};
}

void spool_free(struct spool *spool)
{
	for (size_t i = 0; i < spool->extent_count; i++)
		free(spool->extents[i].memory);
	free(spool->chunk);
	free(spool->extents);
	*spool = (struct spool){0};
}
