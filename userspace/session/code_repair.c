/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/code_repair.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "code/patch_bytes.h"
#include "code/site_bytes.h"

#define MOVE_BYTES    5 /* of an instruction with four bytes of number */
#define DIFFERENT_MIN 2 /* of these four, the first of them among it */
#define PIECE_MAX     256

struct repair {
	const struct code_memory *memory;
	struct probed_pieces *pieces;
	int memory_fd; /* to be written to */
	size_t count;
};

static bool repair_open(struct repair *repair, const struct target *target,
			const struct code_memory *memory, struct probed_pieces *pieces)
{
	*repair = (struct repair){memory, pieces,
				  openat(target->proc_fd, "mem", O_RDWR | O_CLOEXEC), 0};
	return repair->memory_fd >= 0;
}

static void put(struct repair *repair, u64 address, u8 byte)
{
	repair->count += pwrite(repair->memory_fd, &byte, 1, (off_t)address) == 1;
}

/* ---- jumps ---- */

/* Of one function. */
struct hooked {
	const struct code_memory *memory;
	u64 start, end;
};

/* A hook lies elsewhere. */
static bool is_code_elsewhere(const void *data, u64 address)
{
	const struct hooked *hooked = data;

	return (address < hooked->start || address >= hooked->end) &&
	       code_memory_has_code(hooked->memory, address);
}

/* Else the bytes behind the first one may be a number that the process has changed, and nothing more. */
static bool may_begin_with_jump(const struct site_bytes *first)
{
	return first->size_bytes &&
	       (first->size_bytes < MOVE_BYTES || site_bytes_is_long_nop(first));
}

/* A jump changes what follows the first byte, which another number in an instruction that begins there does not; and none begins there
 * itself, with the first instruction kept. */
static bool is_rest_of_jump(const u8 *bytes, const u8 *file_bytes, size_t size)
{
	static const u8 begins[][2] = {{0xff, 0x25}, {0x49, 0xbb}, {0x48, 0xb8}, {0x41, 0xba}};
	size_t different = 0;

	if (size < MOVE_BYTES)
		return false;
	for (size_t i = 1; i < MOVE_BYTES; i++)
		different += bytes[i] != file_bytes[i];
	for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
		if (!memcmp(bytes + 1, begins[i], sizeof(begins[i])))
			return false;
	return different >= DIFFERENT_MIN && bytes[1] != file_bytes[1] && bytes[1] != 0xe8 &&
	       bytes[1] != 0xe9 && bytes[1] != 0xeb;
}

static void repair_jump(struct repair *repair, const struct plan_function *function, u64 entry)
{
	const struct site_bytes *first =
		function->placed_bytes ? &function->first : &function->bytes;
	struct hooked hooked = {repair->memory, entry, entry + function->size_bytes};
	const int fd = repair->pieces->plan->modules[function->module].fd;
	u64 file_offset = function->file_offset - function->placed_bytes;
	u8 bytes[PATCH_BYTES], file_bytes[PATCH_BYTES];
	size_t size = code_memory_read(repair->memory, entry, bytes, sizeof(bytes));
	int wanted;

	if (pread(fd, file_bytes, sizeof(file_bytes), (off_t)file_offset) != sizeof(file_bytes) ||
	    !may_begin_with_jump(first) || !is_rest_of_jump(bytes, file_bytes, size) ||
	    (!site_byte_is_breakpoint(bytes[0]) && bytes[0] != first->bytes[0]))
		return;
	wanted = patch_first_byte(bytes, size, entry, is_code_elsewhere, &hooked);
	if (wanted >= 0 && wanted != bytes[0])
		put(repair, entry, (u8)wanted);
}

static void on_changed(void *data, size_t number, u64 address)
{
	struct repair *repair = data;
	const struct plan *plan = repair->pieces->plan;
	const struct plan_function *function = code_piece_owner(plan, number).function;

	/* What differed from the start has no probe. */
	for (size_t i = 0; function && !function->changed && i < repair->pieces->count; i++) {
		const struct probed_piece *piece = &repair->pieces->items[i];

		if (piece->start == address && piece->number == number && !piece->heap &&
		    piece->file_offset == function->file_offset - function->placed_bytes) {
			repair_jump(repair, function, address);
			return;
		}
	}
}

size_t code_repair_jumps(const struct target *target, struct code_memory *memory,
			 struct probed_pieces *pieces)
{
	struct repair repair;

	if (repair_open(&repair, target, memory, pieces))
		(void)code_pieces_compare(pieces->plan, memory, on_changed, &repair);
	cleanup_close(&repair.memory_fd);
	return repair.count;
}

/* ---- copies ---- */

/* Of a piece, in memory and in its file. */
struct beginning {
	struct repair *repair;
	u64 start;
	size_t size_bytes;
	u8 memory[PIECE_MAX], file[PIECE_MAX];
};

static bool beginning_read(struct repair *repair, const struct probed_piece *piece,
			   struct beginning *beginning)
{
	const struct probed_pieces *pieces = repair->pieces;
	const struct plan *plan = piece->heap ? pieces->heap_plan : pieces->plan;
	const int fd = plan->modules[probed_piece_owner(pieces, piece).module].fd;
	size_t size = piece->end - piece->start;

	size = size < PIECE_MAX ? size : PIECE_MAX;
	beginning->repair = repair;
	beginning->start = piece->start;
	beginning->size_bytes = size;
	return code_memory_has_code(repair->memory, piece->start) &&
	       code_memory_read(repair->memory, piece->start, beginning->memory, size) == size &&
	       pread(fd, beginning->file, size, (off_t)piece->file_offset) == (ssize_t)size;
}

static int on_place(void *data, u64 address, u8 file_byte)
{
	const struct beginning *beginning = data;
	size_t at = address - beginning->start;

	if (at < beginning->size_bytes && !site_byte_is_breakpoint(file_byte) &&
	    site_byte_is_breakpoint(beginning->memory[at]))
		put(beginning->repair, address, file_byte);
	return 0;
}

/* But for breakpoints. */
static bool is_the_files(const struct beginning *beginning)
{
	for (size_t i = 0; i < beginning->size_bytes; i++)
		if (beginning->memory[i] != beginning->file[i] &&
		    !site_byte_is_breakpoint(beginning->memory[i]))
			return false;
	return true;
}

/* Is it still the file that is mapped there? */
static bool is_of_file(const struct repair *repair, const struct probed_piece *piece)
{
	const struct probed_pieces *pieces = repair->pieces;
	const struct plan *plan = piece->heap ? pieces->heap_plan : pieces->plan;
	const struct code_module *module = &plan->modules[probed_piece_owner(pieces, piece).module];
	const struct maps_line *line;
	size_t index = 0;

	while ((line = code_memory_next(repair->memory, module, &index)))
		if (piece->start >= line->start && piece->start < line->end)
			return true;
	return false;
}

static void repair_copies_in(struct repair *repair, struct probed_piece *piece, bool moved)
{
	struct beginning beginning;

	if (!piece->gone || piece->shared || !beginning_read(repair, piece, &beginning))
		return;
	if (!is_the_files(&beginning))
		piece->written = true;
	else if (piece->written || (moved && !is_of_file(repair, piece)))
		probed_piece_places(repair->pieces, piece, on_place, &beginning);
}

size_t code_repair_copies(const struct target *target, const struct code_memory *memory,
			  struct probed_pieces *pieces, u64 start, u64 end, bool moved)
{
	struct repair repair;

	if (!repair_open(&repair, target, memory, pieces))
		return 0;
	for (size_t i = 0; i < pieces->count; i++)
		if (pieces->items[i].start < end && pieces->items[i].end > start)
			repair_copies_in(&repair, &pieces->items[i], moved);
	cleanup_close(&repair.memory_fd);
	return repair.count;
}
