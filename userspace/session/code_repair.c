/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/code_repair.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "code/patch_bytes.h"
#include "code/site_bytes.h"

#define MOVE_BYTES 5 /* of an instruction with four bytes of number */

struct repair {
	const struct code_memory *memory;
	const struct probed_pieces *pieces;
	int memory_fd; /* to be written to */
	size_t count;
};

static bool repair_open(struct repair *repair, const struct target *target,
			const struct code_memory *memory, const struct probed_pieces *pieces)
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

static bool is_as_in_file(const struct plan_function *function, const u8 *bytes, size_t size)
{
	const struct site_bytes *first =
		function->placed_bytes ? &function->first : &function->bytes;

	return size > first->size_bytes && site_bytes_match(first, bytes);
}

static void repair_jump(struct repair *repair, const struct plan_function *function, u64 entry)
{
	const struct site_bytes *first =
		function->placed_bytes ? &function->first : &function->bytes;
	struct hooked hooked = {repair->memory, entry, entry + function->size_bytes};
	u8 bytes[PATCH_BYTES];
	size_t size = code_memory_read(repair->memory, entry, bytes, sizeof(bytes));
	int wanted;

	if (!size || !may_begin_with_jump(first) ||
	    (!site_byte_is_breakpoint(bytes[0]) && bytes[0] != first->bytes[0]) ||
	    (first->size_bytes > 1 && is_as_in_file(function, bytes, size)))
		return;
	wanted = patch_first_byte(bytes, size, entry, is_code_elsewhere, &hooked);
	if (wanted >= 0 && wanted != bytes[0])
		put(repair, entry, (u8)wanted);
}

/* Only where there is a difference behind the first byte. */
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

size_t code_repair_jumps(const struct target *target, const struct code_memory *memory,
			 const struct probed_pieces *pieces)
{
	struct repair repair;

	if (repair_open(&repair, target, memory, pieces))
		(void)code_pieces_compare(pieces->plan, memory, on_changed, &repair);
	cleanup_close(&repair.memory_fd);
	return repair.count;
}

/* ---- copies ---- */

static int on_place(void *data, u64 address, u8 file_byte)
{
	struct repair *repair = data;
	u8 byte;

	if (!site_byte_is_breakpoint(file_byte) &&
	    code_memory_read(repair->memory, address, &byte, 1) && site_byte_is_breakpoint(byte))
		put(repair, address, file_byte);
	return 0;
}

size_t code_repair_copies(const struct target *target, const struct code_memory *memory,
			  const struct probed_pieces *pieces, u64 start, u64 end)
{
	struct repair repair;

	if (!repair_open(&repair, target, memory, pieces))
		return 0;
	for (size_t i = 0; i < pieces->count; i++) {
		const struct probed_piece *piece = &pieces->items[i];

		if (piece->gone && !piece->shared && piece->start < end && piece->end > start)
			probed_piece_places(pieces, piece, on_place, &repair);
	}
	cleanup_close(&repair.memory_fd);
	return repair.count;
}
