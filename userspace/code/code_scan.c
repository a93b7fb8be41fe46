/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code/code_scan.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/thread.h"

#define CODE_MAX_BYTES	   (4ULL << 30)
#define CHUNK_BYTES	   (1 << 20)
#define READ_BYTES	   (128 << 10)
#define READ_OVERLAP_BYTES 16
#define WINDOW_BYTES	   (128 << 10)
#define WORKER_MIN_CHUNKS  4 /* a thread for less is not worth it */

/* What one thread reads. */
struct chunk {
	u64 address, offset;
	size_t size;	 /* of what begins there */
	size_t readable; /* up to the end of the piece */
	u8 digest[SHA256_BYTES];
};

struct scan {
	const struct elf_file *file;
	struct code_references *references; /* NULL: only the text is wanted */
	struct code_text *text;		    /* NULL: it is not */
	pthread_mutex_t lock;		    /* of its bases */
	struct elf_segment *pieces;	    /* of code */
	size_t piece_count;
	u64 start, end; /* of them all */
	struct chunk *chunks;
	size_t chunk_count;
	atomic_size_t next_chunk;
	atomic_int result; /* of the threads */
};

/* ---- tables: hundreds of thousands of addresses, in ascending order, of which most are no table's ---- */

static size_t window_read(const void *data, u64 address, void *ret_bytes, size_t size)
{
	struct elf_window *const *window = data;

	return elf_window_read(*window, address, ret_bytes, size);
}

static int tables_follow(const struct scan *scan, struct code_bases *bases)
{
	_cleanup_free_ struct elf_window *window = elf_window_create(scan->file, WINDOW_BYTES);

	if (!window)
		return -ENOMEM;
	code_references_add_tables(scan->references, bases, window_read, &window);
	return 0;
}

/* ---- code ---- */

static void pointer_visit(void *data, u64 address)
{
	code_references_add(data, REFERENCE_POINTER, address);
}

/* The part of so many bytes that begins there, and what instructions at its end have behind it. How many bytes, or -EIO. */
static ssize_t part_read(const struct scan *scan, u64 offset, u64 left, u8 *ret_bytes)
{
	size_t want =
		left < READ_BYTES + READ_OVERLAP_BYTES ? left : READ_BYTES + READ_OVERLAP_BYTES;
	ssize_t size = elf_file_read(scan->file, offset, ret_bytes, want);

	return size == (ssize_t)want ? size : -EIO;
}

/* Part by part. */
static int chunk_scan(const struct scan *scan, struct chunk *chunk, struct code_bases *bases,
		      u8 *bytes)
{
	struct sha256 sha;
	int result = 0;

	sha256_begin(&sha);

	for (size_t done = 0; done < chunk->size && !result; done += READ_BYTES) {
		size_t left = chunk->size - done, begins = left < READ_BYTES ? left : READ_BYTES;
		ssize_t size = part_read(scan, chunk->offset + done, chunk->readable - done, bytes);

		if (size < 0)
			return (int)size;
		if (scan->text)
			sha256_add(&sha, bytes, begins);
		if (scan->references)
			result = code_references_add_code(scan->references, bases,
							  chunk->address + done, bytes, begins,
							  (size_t)size);
	}
	sha256_end(&sha, chunk->digest);
	return result;
}

/* Those that may be a table's. */
static int bases_note(struct scan *scan, const struct code_bases *bases)
{
	struct code_bases *all = &scan->text->bases;
	int result;

	pthread_mutex_lock(&scan->lock);
	result = array_reserve(&all->items, &all->capacity, all->count + bases->count);
	for (size_t i = 0; i < bases->count && !result; i++)
		if (elf_file_holds_address(scan->file, bases->items[i]))
			all->items[all->count++] = bases->items[i];
	pthread_mutex_unlock(&scan->lock);
	return result;
}

/* Each follows the tables of its own code: whoever follows one twice adds nothing. */
static void *work(void *data)
{
	_cleanup_free_ u8 *bytes = malloc(READ_BYTES + READ_OVERLAP_BYTES);
	struct scan *scan = data;
	struct code_bases bases = {0};
	size_t chunk;
	int result = bytes ? 0 : -ENOMEM;

	while (!result && (chunk = atomic_fetch_add(&scan->next_chunk, 1)) < scan->chunk_count)
		result = chunk_scan(scan, &scan->chunks[chunk], &bases, bytes);
	if (!result && scan->references && scan->text)
		result = bases_note(scan, &bases);
	if (!result && scan->references)
		result = tables_follow(scan, &bases);
	free(bases.items);
	if (result)
		atomic_store(&scan->result, result);
	return NULL;
}

static int chunks_make(struct scan *scan)
{
	size_t count = 0;

	for (size_t i = 0; i < scan->piece_count; i++)
		count += scan->pieces[i].file_size_bytes / CHUNK_BYTES + 1;
	scan->chunks = calloc(count, sizeof(*scan->chunks));
	if (!scan->chunks)
		return -ENOMEM;
	for (size_t i = 0; i < scan->piece_count; i++) {
		const struct elf_segment *piece = &scan->pieces[i];

		for (u64 done = 0; done < piece->file_size_bytes; done += CHUNK_BYTES) {
			u64 left = piece->file_size_bytes - done;

			scan->chunks[scan->chunk_count++] = (struct chunk){
				.address = piece->address + done,
				.offset = piece->offset + done,
				.size = left < CHUNK_BYTES ? left : CHUNK_BYTES,
				.readable = left,
			};
		}
	}
	return 0;
}

/* Data that may hold addresses. */
static int data_scan(const struct scan *scan, const struct elf_segment *piece)
{
	_cleanup_free_ u8 *bytes = malloc(READ_BYTES + READ_OVERLAP_BYTES);

	if (!bytes)
		return -ENOMEM;
	for (u64 done = 0; done < piece->file_size_bytes; done += READ_BYTES) {
		ssize_t size =
			part_read(scan, piece->offset + done, piece->file_size_bytes - done, bytes);

		if (size < 0)
			return (int)size;
		code_references_add_absolute(scan->references, bytes, (size_t)size);
	}
	return 0;
}

/* ---- where it is ---- */

static bool pieces_hold(const struct scan *scan, u64 address)
{
	for (size_t i = 0; i < scan->piece_count; i++)
		if (address - scan->pieces[i].address < scan->pieces[i].file_size_bytes)
			return true;
	return false;
}

/* Does the table of sections leave out a function? Then it says nothing of where code is. */
static bool pieces_lack_code(const struct scan *scan, const struct elf_symbols *symbols)
{
	for (size_t i = 0; i < symbols->count; i++)
		if (!pieces_hold(scan, symbols->items[i].address))
			return true;
	return false;
}

static int pieces_find(struct scan *scan, const struct elf_symbols *symbols)
{
	ssize_t count = elf_file_code(scan->file, &scan->pieces);

	if (count < 0)
		return (int)count;
	scan->piece_count = (size_t)count;
	if (pieces_lack_code(scan, symbols)) {
		const struct elf_segment *segments;
		size_t segment_count = elf_file_segments(scan->file, true, &segments);

		free(scan->pieces);
		scan->piece_count = 0;
		scan->pieces = calloc(segment_count + 1, sizeof(*segments));
		if (!scan->pieces)
			return -ENOMEM;
		scan->piece_count = segment_count;
		memcpy(scan->pieces, segments, segment_count * sizeof(*segments));
	}
	scan->start = UINT64_MAX;
	for (size_t i = 0; i < scan->piece_count; i++) {
		u64 start = scan->pieces[i].address;
		u64 end = start + scan->pieces[i].file_size_bytes;

		if (end < start)
			return -EINVAL;
		scan->start = start < scan->start ? start : scan->start;
		scan->end = end > scan->end ? end : scan->end;
	}
	return scan->start < scan->end && scan->end - scan->start <= CODE_MAX_BYTES ? 0 : -EINVAL;
}

static int references_create(struct scan *scan, const struct code_span *keep, size_t keep_count)
{
	int result = 0;

	scan->references = code_references_create(scan->start, scan->end);
	if (!scan->references)
		return -ENOMEM;
	if (!keep)
		return code_references_keep(scan->references, scan->start, scan->end - 1);
	for (size_t i = 0; i < keep_count && !result; i++)
		result = code_references_keep(scan->references, keep[i].first, keep[i].last);
	return result;
}

static void text_digest(const struct scan *scan, u8 *ret_digest)
{
	struct sha256 sha;

	sha256_begin(&sha);
	for (size_t i = 0; i < scan->chunk_count; i++) {
		const struct chunk *chunk = &scan->chunks[i];
		const u64 place[] = {chunk->address, chunk->offset, chunk->size};

		sha256_add(&sha, place, sizeof(place));
		sha256_add(&sha, chunk->digest, sizeof(chunk->digest));
	}
	sha256_end(&sha, ret_digest);
}

static int text_scan(struct scan *scan)
{
	int result = chunks_make(scan);

	if (result)
		return result;
	thread_run_together(thread_workers(scan->chunk_count / WORKER_MIN_CHUNKS), work, scan);
	result = scan->result;
	if (result || !scan->text)
		return result;
	text_digest(scan, scan->text->digest);
	code_bases_sort(&scan->text->bases);
	return 0;
}

static void others_add(const struct scan *scan, const struct elf_symbols *symbols)
{
	elf_file_pointers(scan->file, pointer_visit, scan->references);
	for (size_t i = 0; i < symbols->count; i++)
		code_references_add(scan->references, REFERENCE_JUMP, symbols->items[i].address);
}

static int scan_all(struct scan *scan, const struct elf_symbols *symbols)
{
	const struct elf_segment *segments;
	size_t count;
	int result = text_scan(scan);

	others_add(scan, symbols);
	if (elf_file_is_movable(scan->file))
		return result;
	count = elf_file_segments(scan->file, false, &segments);
	for (size_t i = 0; i < count && !result; i++)
		result = data_scan(scan, &segments[i]);
	return result;
}

int code_scan(const struct elf_file *file, const struct elf_symbols *symbols,
	      const struct code_span *keep, size_t keep_count, struct code_text *ret_text,
	      struct code_references **ret_references)
{
	struct scan scan = {.file = file, .text = ret_text, .lock = PTHREAD_MUTEX_INITIALIZER};
	int result = pieces_find(&scan, symbols);

	if (!result)
		result = references_create(&scan, keep, keep_count);
	if (!result)
		result = scan_all(&scan, symbols);
	free(scan.pieces);
	free(scan.chunks);
	*ret_references = result ? code_references_free(scan.references) : scan.references;
	return result;
}

int code_text_digest(const struct elf_file *file, const struct elf_symbols *symbols,
		     u8 ret_digest[SHA256_BYTES])
{
	struct code_text text = {0};
	struct scan scan = {.file = file, .text = &text};
	int result = pieces_find(&scan, symbols);

	if (!result)
		result = text_scan(&scan);
	free(scan.pieces);
	free(scan.chunks);
	memcpy(ret_digest, text.digest, sizeof(text.digest));
	return result;
}

int code_scan_follow(const struct elf_file *file, const struct elf_symbols *symbols,
		     struct code_bases *bases, struct code_references *references)
{
	const struct scan scan = {.file = file, .references = references};

	others_add(&scan, symbols);
	return tables_follow(&scan, bases);
}

int code_references_of_file(const struct elf_file *file, const struct elf_symbols *symbols,
			    struct code_references **ret_references)
{
	struct scan scan = {.file = file};
	int result = pieces_find(&scan, symbols);

	if (!result)
		result = references_create(&scan, &(struct code_span){0}, 0);
	free(scan.pieces);
	*ret_references = result ? code_references_free(scan.references) : scan.references;
	return result;
}

static int piece_visit(const struct scan *scan, const struct elf_segment *piece, u8 *bytes,
		       int (*visit)(void *data, u64 address, const u8 *bytes, size_t size,
				    size_t readable),
		       void *data)
{
	int result = 0;

	for (u64 done = 0; done < piece->file_size_bytes && !result; done += READ_BYTES) {
		u64 left = piece->file_size_bytes - done;
		ssize_t size = part_read(scan, piece->offset + done, left, bytes);

		if (size < 0)
			return (int)size;
		result = visit(data, piece->address + done, bytes,
			       left < READ_BYTES ? left : READ_BYTES, (size_t)size);
	}
	return result;
}

int code_scan_parts(const struct elf_file *file, const struct elf_symbols *symbols,
		    int (*visit)(void *data, u64 address, const u8 *bytes, size_t size,
				 size_t readable),
		    void *data)
{
	_cleanup_free_ u8 *bytes = malloc(READ_BYTES + READ_OVERLAP_BYTES);
	struct scan scan = {.file = file};
	int result = bytes ? pieces_find(&scan, symbols) : -ENOMEM;

	for (size_t i = 0; i < scan.piece_count && !result; i++)
		result = piece_visit(&scan, &scan.pieces[i], bytes, visit, data);
	free(scan.pieces);
	return result;
}
