/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A ring of pieces: the thread fills those that are free, the caller empties those that are full, in the same order. A
 * record never is in two of them. What the thread met at the end stands in the piece behind whose records it comes.
 */
#include "store/capture_ahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "store/capture_blocks.h"

#define PIECES	    4
#define PIECE_BYTES (256U << 10)

struct piece {
	u8 *bytes; /* records, each at a multiple of 8 */
	size_t used_bytes;
	int result; /* 1: more pieces come; 0: the end; -errno */
	struct err err;
};

struct capture_ahead {
	struct capture_cursor *cursor; /* the thread's while it runs */
	bool has_thread;
	pthread_t thread;
	struct piece pieces[PIECES]; /* piece n is at n % PIECES */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Under the lock. */
	u64 filled, emptied; /* pieces, ever */
	bool stop;
	/* The caller's. */
	struct piece *open; /* NULL: none */
	size_t next_byte;   /* in it */
};

/* ---- the thread ---- */

static size_t place_bytes(size_t size_bytes)
{
	return (size_bytes + 7) / 8 * 8;
}

static void fill(struct capture_cursor *cursor, struct piece *piece)
{
	const struct record_header *record;

	piece->used_bytes = 0;
	piece->result = 1;
	while (piece->used_bytes + place_bytes(RECORD_SIZE_MAX_BYTES) <= PIECE_BYTES) {
		piece->result = capture_cursor_next(cursor, &record, &piece->err);
		if (piece->result <= 0)
			break;
		memcpy(piece->bytes + piece->used_bytes, record, record->size_bytes);
		piece->used_bytes += place_bytes(record->size_bytes);
	}
}

static void *ahead_run(void *data)
{
	struct capture_ahead *ahead = data;
	bool more = true;

	pthread_mutex_lock(&ahead->lock);
	while (more) {
		struct piece *piece = &ahead->pieces[ahead->filled % PIECES];

		while (ahead->filled - ahead->emptied == PIECES && !ahead->stop)
			pthread_cond_wait(&ahead->changed, &ahead->lock);
		if (ahead->stop)
			break;
		pthread_mutex_unlock(&ahead->lock);
		fill(ahead->cursor, piece);
		more = piece->result > 0;
		pthread_mutex_lock(&ahead->lock);
		ahead->filled++;
		pthread_cond_signal(&ahead->changed);
	}
	pthread_mutex_unlock(&ahead->lock);
	return NULL;
}

static bool start_thread(struct capture_ahead *ahead)
{
	for (size_t i = 0; i < PIECES; i++) {
		ahead->pieces[i].bytes = malloc(PIECE_BYTES);
		if (!ahead->pieces[i].bytes)
			return false;
	}
	return thread_start(&ahead->thread, ahead_run, ahead) == 0;
}

static void stop_thread(struct capture_ahead *ahead)
{
	pthread_mutex_lock(&ahead->lock);
	ahead->stop = true;
	pthread_cond_signal(&ahead->changed);
	pthread_mutex_unlock(&ahead->lock);
	pthread_join(ahead->thread, NULL);
}

/* ---- the caller ---- */

static u64 event_bytes(const struct capture_reader *reader)
{
	u64 bytes = 0;

	for (size_t i = 0; i < reader->block_count; i++)
		bytes += reader->blocks[i].payload_bytes;
	return bytes;
}

int capture_ahead_open(struct capture_reader *reader, u64 bytes_min,
		       struct capture_ahead **ret_ahead, struct err *err)
{
	struct capture_ahead *ahead = calloc(1, sizeof(*ahead));
	int result;

	if (!ahead)
		return err_errno(err, -ENOMEM, "can't read the capture");
	result = capture_cursor_open(reader, &ahead->cursor, err);
	if (result < 0) {
		free(ahead);
		return result;
	}
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_cond_init(&ahead->changed, NULL);
	if (event_bytes(reader) >= bytes_min)
		ahead->has_thread = start_thread(ahead);
	*ret_ahead = ahead;
	return 0;
}

/* Gives the piece at hand back and takes the next one. */
static struct piece *next_piece(struct capture_ahead *ahead)
{
	struct piece *piece;

	pthread_mutex_lock(&ahead->lock);
	if (ahead->open) {
		ahead->emptied++;
		pthread_cond_signal(&ahead->changed);
	}
	while (ahead->filled == ahead->emptied)
		pthread_cond_wait(&ahead->changed, &ahead->lock);
	piece = &ahead->pieces[ahead->emptied % PIECES];
	pthread_mutex_unlock(&ahead->lock);
	return piece;
}

int capture_ahead_next(struct capture_ahead *ahead, const struct record_header **ret_record,
		       struct err *err)
{
	if (!ahead->has_thread)
		return capture_cursor_next(ahead->cursor, ret_record, err);
	while (!ahead->open || ahead->next_byte == ahead->open->used_bytes) {
		if (ahead->open && ahead->open->result <= 0) {
			if (ahead->open->result < 0 && err)
				*err = ahead->open->err;
			return ahead->open->result;
		}
		ahead->open = next_piece(ahead);
		ahead->next_byte = 0;
	}
	*ret_record = (const void *)(ahead->open->bytes + ahead->next_byte);
	ahead->next_byte += place_bytes((*ret_record)->size_bytes);
	return 1;
}

struct capture_ahead *capture_ahead_free(struct capture_ahead *ahead)
{
	if (!ahead)
		return NULL;
	if (ahead->has_thread)
		stop_thread(ahead);
	for (size_t i = 0; i < PIECES; i++)
		free(ahead->pieces[i].bytes);
	pthread_cond_destroy(&ahead->changed);
	pthread_mutex_destroy(&ahead->lock);
	capture_cursor_free(ahead->cursor);
	free(ahead);
	return NULL;
}
