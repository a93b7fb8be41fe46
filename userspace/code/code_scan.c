/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code/code_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define CODE_MAX_BYTES	   (4ULL << 30)
#define READ_BYTES	   (128 << 10)
#define READ_OVERLAP_BYTES 16
#define WINDOW_BYTES	   (128 << 10)

struct scan {
	const struct elf_file *file;
	struct code_references *references;
	struct elf_segment *pieces; /* of code */
	size_t piece_count;
	u64 start, end; /* of them all */
};

/* ---- tables: hundreds of thousands of addresses, in ascending order, of which most are no table's ---- */

struct window {
	const struct elf_file *file;
	u64 address;
	size_t size;
	u8 bytes[WINDOW_BYTES];
};

static size_t window_read(const void *data, u64 address, void *ret_bytes, size_t size)
{
	struct window *window = *(struct window *const *)data;
	u64 inside = address - window->address;

	if (address < window->address || inside >= window->size || window->size - inside < size) {
		window->address = address;
		window->size = elf_file_read_address(window->file, address, window->bytes,
						     sizeof(window->bytes));
		inside = 0;
	}
	if (size > window->size)
		size = window->size;
	memcpy(ret_bytes, window->bytes + inside, size);
	return size;
}

static int tables_follow(struct scan *scan)
{
	_cleanup_free_ struct window *window = malloc(sizeof(*window));

	if (!window)
		return -ENOMEM;
	window->file = scan->file;
	window->address = 0;
	window->size = 0;
	code_references_add_tables(scan->references, window_read, &window);
	return 0;
}

/* ---- code ---- */

static void pointer_visit(void *data, u64 address)
{
	code_references_add(data, REFERENCE_POINTER, address);
}

/* Goes through a piece, part by part: as code, or as data that may hold addresses. */
static int piece_scan(struct scan *scan, const struct elf_segment *piece, bool is_code)
{
	_cleanup_free_ u8 *bytes = malloc(READ_BYTES + READ_OVERLAP_BYTES);
	int result = 0;

	if (!bytes)
		return -ENOMEM;
	for (u64 done = 0; done < piece->file_size_bytes && !result; done += READ_BYTES) {
		u64 left = piece->file_size_bytes - done;
		size_t want = left < READ_BYTES + READ_OVERLAP_BYTES
				      ? left
				      : READ_BYTES + READ_OVERLAP_BYTES;
		ssize_t size = elf_file_read(scan->file, piece->offset + done, bytes, want);

		if (size < 0 || (size_t)size != want)
			return -EIO;
		if (!is_code)
			code_references_add_absolute(scan->references, bytes, want);
		else
			result = code_references_add_code(
				scan->references, piece->address + done, bytes,
				want < READ_BYTES ? want : READ_BYTES, want);
	}
	return result;
}

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

static int scan_all(struct scan *scan, const struct elf_symbols *symbols)
{
	const struct elf_segment *segments;
	size_t count;
	int result = pieces_find(scan, symbols);

	if (result)
		return result;
	scan->references = code_references_create(scan->start, scan->end);
	if (!scan->references)
		return -ENOMEM;
	for (size_t i = 0; i < scan->piece_count && !result; i++)
		result = piece_scan(scan, &scan->pieces[i], true);
	if (!result)
		result = tables_follow(scan);
	elf_file_pointers(scan->file, pointer_visit, scan->references);
	for (size_t i = 0; i < symbols->count; i++)
		code_references_add(scan->references, REFERENCE_JUMP, symbols->items[i].address);
	if (elf_file_is_movable(scan->file))
		return result;
	count = elf_file_segments(scan->file, false, &segments);
	for (size_t i = 0; i < count && !result; i++)
		result = piece_scan(scan, &segments[i], false);
	return result;
}

int code_scan(const struct elf_file *file, const struct elf_symbols *symbols,
	      struct code_references **ret_references)
{
	struct scan scan = {.file = file};
	int result = scan_all(&scan, symbols);

	free(scan.pieces);
	*ret_references = result ? code_references_free(scan.references) : scan.references;
	return result;
}
