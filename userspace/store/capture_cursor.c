/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cursor: a heap of the blocks that overlap now, by the time of their next record. A block is
 * opened when its first record may be the next one, reads a little first (many blocks begin with
 * one long span, and the rest comes much later) and more at each refill.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/file.h"
#include "store/capture_blocks.h"
#include "store/record_order.h"

#define BUFFER_FIRST_BYTES 1024
#define BUFFER_MAX_BYTES   (32U << 10)

/* A block that is open: the window of it in memory, and its next record. */
struct open_block {
	const struct capture_block *block;
	u8 *buffer;
	size_t capacity;
	size_t used;	/* bytes in the buffer */
	size_t next;	/* offset in the buffer of what comes after the record at hand */
	u32 read_bytes; /* of the payload, so far */
	u64 last_ns;
	struct record_header *record; /* renumbered; in the buffer, or in room */
	struct convert_room room;
};

struct capture_cursor {
	const struct capture_reader *reader;
	size_t next_block; /* the first that was not opened yet */
	struct open_block **heap;
	size_t heap_count;
	size_t heap_capacity;
	struct open_block *spare; /* one closed block, to save its memory */
	bool advance;		  /* the top was given out */
};

static struct open_block *open_block_free(struct open_block *open)
{
	if (!open)
		return NULL;
	free(open->buffer);
	free(open->room.record);
	free(open);
	return NULL;
}

/* Makes `needed` bytes from open->next on available, as far as the block has them. */
static int open_block_fill(struct capture_cursor *cursor, struct open_block *open, size_t needed)
{
	size_t rest = open->used - open->next, wanted;
	ssize_t got;

	if (rest >= needed || open->read_bytes == open->block->payload_bytes)
		return 0;
	wanted = open->capacity ? open->capacity * 2 : BUFFER_FIRST_BYTES;
	wanted = wanted > BUFFER_MAX_BYTES ? BUFFER_MAX_BYTES : wanted;
	wanted = wanted < needed ? needed : wanted;
	if (rest)
		memmove(open->buffer, open->buffer + open->next, rest);
	open->next = 0;
	open->used = rest;
	if (array_reserve(&open->buffer, &open->capacity, wanted) < 0)
		return -ENOMEM;
	wanted -= rest;
	if (wanted > open->block->payload_bytes - open->read_bytes)
		wanted = open->block->payload_bytes - open->read_bytes;
	got = file_read_at(cursor->reader->fd, open->buffer + rest, wanted,
			   open->block->offset + open->read_bytes);
	if (got < 0)
		return got;
	/* The file was cut behind our back: the block ends here. */
	open->read_bytes =
		(size_t)got < wanted ? open->block->payload_bytes : open->read_bytes + wanted;
	open->used += got;
	return 0;
}

/* Goes to the block's next good record: 1, or 0 at its end. Everything is checked again: the file
 * may have been changed since it was opened. What is damaged was counted then. A record is checked and renumbered where
 * it was read to. */
static int open_block_next(struct capture_cursor *cursor, struct open_block *open)
{
	for (;;) {
		struct record_header *raw, *record;
		int result = open_block_fill(cursor, open, sizeof(*raw));

		if (result < 0)
			return result;
		if (open->used - open->next < sizeof(*raw))
			return 0;
		raw = (void *)(open->buffer + open->next);
		result = open_block_fill(cursor, open, raw->size_bytes);
		if (result < 0)
			return result;
		raw = (void *)(open->buffer + open->next);
		result = capture_check_event(cursor->reader, raw, open->used - open->next,
					     open->last_ns, &open->room, &record);
		if (result == -EBADMSG)
			return 0;
		if (result == -ENOMEM)
			return result;
		open->next += raw->size_bytes;
		if (result <= 0 || !renumber_apply(cursor->reader->renumber, record))
			continue;
		open->record = record;
		open->last_ns = record->ts;
		return 1;
	}
}

/* ---- the heap ---- */

static bool comes_before(const struct open_block *a, const struct open_block *b)
{
	int order = record_compare(a->record, b->record);

	return order ? order < 0 : a->block->place < b->block->place;
}

static void heap_up(struct capture_cursor *cursor, size_t place)
{
	struct open_block *moving = cursor->heap[place];

	while (place) {
		size_t parent = (place - 1) / 2;

		if (!comes_before(moving, cursor->heap[parent]))
			break;
		cursor->heap[place] = cursor->heap[parent];
		place = parent;
	}
	cursor->heap[place] = moving;
}

static void heap_down(struct capture_cursor *cursor)
{
	struct open_block *moving = cursor->heap[0];
	size_t place = 0;

	for (;;) {
		size_t child = 2 * place + 1;

		if (child >= cursor->heap_count)
			break;
		if (child + 1 < cursor->heap_count &&
		    comes_before(cursor->heap[child + 1], cursor->heap[child]))
			child++;
		if (!comes_before(cursor->heap[child], moving))
			break;
		cursor->heap[place] = cursor->heap[child];
		place = child;
	}
	cursor->heap[place] = moving;
}

/* A closed block's memory serves the next one. */
static struct open_block *cursor_take_block(struct capture_cursor *cursor)
{
	struct open_block *open = cursor->spare;

	cursor->spare = NULL;
	if (!open)
		return calloc(1, sizeof(*open));
	open->used = open->next = open->read_bytes = 0;
	return open;
}

static void cursor_close_block(struct capture_cursor *cursor, struct open_block *open)
{
	open_block_free(cursor->spare);
	cursor->spare = open;
}

static int cursor_open_block(struct capture_cursor *cursor)
{
	struct open_block *open;
	int result;

	if (array_reserve(&cursor->heap, &cursor->heap_capacity, cursor->heap_count + 1) < 0)
		return -ENOMEM;
	open = cursor_take_block(cursor);
	if (!open)
		return -ENOMEM;
	open->block = &cursor->reader->blocks[cursor->next_block++];
	open->last_ns = open->block->first_ns;
	result = open_block_next(cursor, open);
	if (result <= 0) {
		cursor_close_block(cursor, open);
		return result;
	}
	cursor->heap[cursor->heap_count++] = open;
	heap_up(cursor, cursor->heap_count - 1);
	return 0;
}

/* Goes on in the block whose record was given out. */
static int cursor_advance(struct capture_cursor *cursor)
{
	struct open_block *top = cursor->heap[0];
	int result = open_block_next(cursor, top);

	cursor->advance = false;
	if (result <= 0) {
		cursor->heap[0] = cursor->heap[--cursor->heap_count];
		cursor_close_block(cursor, top);
	}
	if (result >= 0 && cursor->heap_count > 1)
		heap_down(cursor);
	return result < 0 ? result : 0;
}

int capture_cursor_next(struct capture_cursor *cursor, const struct record_header **ret_record,
			struct err *err)
{
	const struct capture_reader *reader = cursor->reader;
	int result = cursor->advance ? cursor_advance(cursor) : 0;

	while (result == 0 && cursor->next_block < reader->block_count &&
	       (!cursor->heap_count ||
		reader->blocks[cursor->next_block].first_ns <= cursor->heap[0]->record->ts))
		result = cursor_open_block(cursor);
	if (result < 0)
		return err_errno(err, result, "can't read the capture");
	if (!cursor->heap_count)
		return 0;
	*ret_record = cursor->heap[0]->record;
	cursor->advance = true;
	return 1;
}

int capture_cursor_open(struct capture_reader *reader, struct capture_cursor **ret_cursor,
			struct err *err)
{
	struct capture_cursor *cursor = calloc(1, sizeof(*cursor));

	if (!cursor)
		return err_errno(err, -ENOMEM, "can't read the capture");
	cursor->reader = reader;
	*ret_cursor = cursor;
	return 0;
}

struct capture_cursor *capture_cursor_free(struct capture_cursor *cursor)
{
	if (!cursor)
		return NULL;
	for (size_t i = 0; i < cursor->heap_count; i++)
		open_block_free(cursor->heap[i]);
	open_block_free(cursor->spare);
	free(cursor->heap);
	free(cursor);
	return NULL;
}
