/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code/nameless_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "code/code_jumps_x86_64.h"
#include "code/function_code_parts.h"
#include "elf/elf_pieces.h"

#define PIECE_MAX_BYTES (64 << 10)
#define WAYS_MAX	64 /* of a function, to different places without a name */
#define CALLS_MAX	256
#define GAP_MAX_BYTES	64 /* between pieces of code, by their alignment */

struct nameless_parts {
	const struct elf_file *file;
	const struct elf_symbols *symbols;
	struct elf_pieces *pieces; /* NULL: not read yet, or there are none */
	bool read;
};

struct nameless_parts *nameless_parts_create(const struct elf_file *file,
					     const struct elf_symbols *symbols)
{
	struct nameless_parts *parts = calloc(1, sizeof(*parts));

	if (!parts)
		return NULL;
	parts->file = file;
	parts->symbols = symbols;
	return parts;
}

struct nameless_parts *nameless_parts_free(struct nameless_parts *parts)
{
	if (!parts)
		return NULL;
	elf_pieces_free(parts->pieces);
	free(parts);
	return NULL;
}

const struct elf_pieces *nameless_parts_pieces(struct nameless_parts *parts)
{
	if (!parts->read)
		(void)elf_pieces_read(parts->file, &parts->pieces, NULL);
	parts->read = true;
	return parts->pieces;
}

enum function_frame nameless_parts_frame(struct nameless_parts *parts, u64 address)
{
	const struct elf_pieces *pieces = nameless_parts_pieces(parts);
	const struct elf_piece *piece = pieces ? elf_pieces_find(pieces, address) : NULL;
	struct elf_frame_address frame;

	if (!piece || !elf_piece_frame_address(pieces, piece, address, &frame))
		return FRAME_UNKNOWN;
	return elf_frame_address_is_bare(&frame) ? FRAME_NONE : FRAME_THERE;
}

static bool overlaps(const struct function_code *function, const struct elf_piece *piece)
{
	for (size_t r = 0; r < function->range_count; r++) {
		const struct code_range *range = &function->ranges[r];

		if (piece->start < range->address + range->size_bytes &&
		    range->address < piece->end)
			return true;
	}
	return false;
}

/* The piece around an address if it has no name and is not the function's yet. */
static const struct elf_piece *nameless_find(const struct nameless_parts *parts,
					     const struct function_code *function, u64 address)
{
	const struct elf_piece *piece = elf_pieces_find(parts->pieces, address);
	size_t count;

	if (!piece || piece->end - piece->start > PIECE_MAX_BYTES || overlaps(function, piece))
		return NULL;
	count = elf_symbols_up_to(parts->symbols, piece->end - 1);
	return count && parts->symbols->items[count - 1].address >= piece->start ? NULL : piece;
}

/* ---- what leads out of a function ---- */

struct way {
	u64 from, target;
};

/* Of all ranges that were read so far, to places without a name; one to each. */
struct ways {
	struct way jumps[WAYS_MAX];
	size_t jump_count;
	u64 calls[CALLS_MAX];
	size_t call_count;
	bool too_many;
	u64 *pads; /* where exceptions go on */
	size_t pad_count, pad_capacity;
	bool pads_unknown;
	size_t range_count;
};

static bool is_jump(const struct instruction *instruction)
{
	return instruction->flow == FLOW_JUMP || instruction->flow == FLOW_JUMP_CONDITIONAL;
}

static void jump_add(struct ways *ways, u64 from, u64 target)
{
	for (size_t i = 0; i < ways->jump_count; i++)
		if (ways->jumps[i].target == target)
			return;
	if (ways->jump_count == WAYS_MAX)
		ways->too_many = true;
	else
		ways->jumps[ways->jump_count++] = (struct way){from, target};
}

static void call_add(struct ways *ways, u64 target)
{
	for (size_t i = 0; i < ways->call_count; i++)
		if (ways->calls[i] == target)
			return;
	if (ways->call_count == CALLS_MAX)
		ways->too_many = true;
	else
		ways->calls[ways->call_count++] = target;
}

static void way_add(struct ways *ways, const struct nameless_parts *parts,
		    const struct function_code *function, const struct code_range *range,
		    const struct instruction *instruction)
{
	u64 target = instruction->target;

	if (!instruction->has_target || target - range->address < range->size_bytes ||
	    !nameless_find(parts, function, target))
		return;
	if (instruction->flow == FLOW_CALL)
		call_add(ways, target);
	else if (is_jump(instruction))
		jump_add(ways, instruction->address, target);
}

static int pads_add(struct ways *ways, const struct nameless_parts *parts,
		    const struct code_range *range)
{
	const struct elf_piece *piece = elf_pieces_find(parts->pieces, range->address);
	_cleanup_free_ u64 *pads = NULL;
	size_t count = 0;
	int result = piece ? elf_piece_landing_pads(parts->file, piece, &pads, &count) : 0;

	if (result == -EINVAL)
		ways->pads_unknown = true;
	if (result == -ENOMEM)
		return result;
	if (count && array_reserve(&ways->pads, &ways->pad_capacity, ways->pad_count + count))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (pads[i] - range->address >= range->size_bytes)
			ways->pads[ways->pad_count++] = pads[i];
	return 0;
}

/* As far as its instructions are known. */
static void ways_read(struct ways *ways, struct decoder *decoder,
		      const struct nameless_parts *parts, const struct function_code *function,
		      const struct code_range *range)
{
	struct instruction instruction;

	for (u64 offset = 0; offset < range->size_bytes; offset += instruction.size_bytes) {
		if (!decoder_read(decoder, range->bytes + offset, range->size_bytes - offset,
				  range->address + offset, &instruction))
			return;
		way_add(ways, parts, function, range, &instruction);
	}
}

/* ---- what a piece does ---- */

struct piece_ways {
	bool back;  /* it jumps to behind the function's start */
	bool other; /* there is another way out of it, or one that is not known */
};

static void piece_way_read(const struct function_code *function, const struct elf_piece *piece,
			   const struct instruction *instruction, struct piece_ways *ways)
{
	u64 target = instruction->target;

	switch (instruction->flow) {
	case FLOW_JUMP:
	case FLOW_JUMP_CONDITIONAL:
		if (!instruction->has_target)
			ways->other = true;
		else if (function_contains(function, target) &&
			 target != function->ranges[0].address)
			ways->back = true;
		else if (target < piece->start || target >= piece->end)
			ways->other = true;
		break;
	case FLOW_RETURN:
	case FLOW_OTHER_RETURN:
	case FLOW_JUMP_REGISTER:
	case FLOW_JUMP_MEMORY:
		ways->other = true;
		break;
	default:
		break;
	}
}

static struct piece_ways piece_ways_read(const struct nameless_parts *parts,
					 struct decoder *decoder,
					 const struct function_code *function,
					 const struct elf_piece *piece)
{
	size_t size = piece->end - piece->start;
	_cleanup_free_ u8 *bytes = elf_piece_bytes(parts->file, piece);
	struct instruction instruction, last = {.flow = FLOW_NEXT};
	struct piece_ways ways = {0};

	for (size_t offset = 0; bytes && offset < size; offset += instruction.size_bytes) {
		if (!decoder_read(decoder, bytes + offset, size - offset, piece->start + offset,
				  &instruction))
			return (struct piece_ways){.other = true};
		piece_way_read(function, piece, &instruction, &ways);
		if (!instruction.nop)
			last = instruction;
	}
	ways.other |= function_goes_on(&last);
	return ways;
}

/* ---- is it a part? ---- */

/* The frame is the same before and behind the jump, and one that no function begins with. */
static bool keeps_frame(const struct nameless_parts *parts, const struct elf_piece *piece,
			const struct way *jump)
{
	const struct elf_piece *own = elf_pieces_find(parts->pieces, jump->from);
	struct elf_frame_address before, behind;

	return own && elf_piece_frame_address(parts->pieces, own, jump->from, &before) &&
	       elf_piece_frame_address(parts->pieces, piece, jump->target, &behind) &&
	       before.register_number == behind.register_number && before.offset == behind.offset &&
	       !elf_frame_address_is_bare(&before);
}

/* Can what stands before the piece go on into it? */
static bool is_fallen_into(const struct nameless_parts *parts, struct decoder *decoder,
			   const struct elf_piece *piece)
{
	u64 start = piece->start - GAP_MAX_BYTES;
	const struct elf_piece *before = NULL;
	_cleanup_free_ u8 *bytes = NULL;
	struct instruction instruction, last = {.flow = FLOW_NEXT};
	size_t size;

	for (u64 address = piece->start - 1; address >= start && !before; address--)
		before = elf_pieces_find(parts->pieces, address);
	if (!before || before->end - before->start > PIECE_MAX_BYTES)
		return true;
	size = piece->start - before->start;
	bytes = malloc(size);
	if (!bytes || elf_file_read_address(parts->file, before->start, bytes, size) != size)
		return true;
	for (size_t offset = 0; offset < size; offset += instruction.size_bytes) {
		if (!decoder_read(decoder, bytes + offset, size - offset, before->start + offset,
				  &instruction))
			return true;
		if (!instruction.nop)
			last = instruction;
	}
	return function_goes_on(&last);
}

/* Does nothing but the function's own jumps, and those of the piece, lead to its start? */
static bool is_exclusive(const struct nameless_parts *parts, struct decoder *decoder,
			 const struct function_code *function, const struct elf_piece *piece)
{
	const struct code_source *sources;
	size_t count;

	if (!function->sources || !function->references ||
	    !code_sources_of(function->sources, piece->start, &sources, &count) ||
	    code_references_find(function->references, REFERENCE_POINTER, piece->start,
				 piece->start + 1) == piece->start)
		return false;
	for (size_t i = 0; i < count; i++)
		if (sources[i].kind != SOURCE_JUMP ||
		    (!function_contains(function, sources[i].address) &&
		     (sources[i].address < piece->start || sources[i].address >= piece->end)))
			return false;
	return !is_fallen_into(parts, decoder, piece);
}

/* What the function calls is another one. */
static bool is_called(const struct ways *ways, const struct elf_piece *piece)
{
	for (size_t i = 0; i < ways->call_count; i++)
		if (ways->calls[i] >= piece->start && ways->calls[i] < piece->end)
			return true;
	return false;
}

static const struct elf_piece *by_jump(const struct nameless_parts *parts, struct decoder *decoder,
				       const struct function_code *function,
				       const struct ways *ways, const struct way *jump)
{
	const struct elf_piece *piece = nameless_find(parts, function, jump->target);
	struct piece_ways piece_ways;

	if (!piece || is_called(ways, piece) || function_is_stub(decoder, function, jump->target))
		return NULL;
	if (jump->target != piece->start || keeps_frame(parts, piece, jump) ||
	    is_exclusive(parts, decoder, function, piece))
		return piece;
	piece_ways = piece_ways_read(parts, decoder, function, piece);
	return piece_ways.back || !piece_ways.other ? piece : NULL;
}

static const struct elf_piece *part_find(const struct nameless_parts *parts,
					 struct decoder *decoder,
					 const struct function_code *function,
					 const struct ways *ways)
{
	const struct elf_piece *found = NULL;

	for (size_t i = 0; i < ways->pad_count && !found; i++)
		found = nameless_find(parts, function, ways->pads[i]);
	for (size_t i = 0; i < ways->jump_count && !found; i++)
		found = by_jump(parts, decoder, function, ways, &ways->jumps[i]);
	return found;
}

/* ---- all of them ---- */

/* Calls visit with each nameless piece that bytes of the range, read as a jump at every offset, lead to. */
static int guesses_visit(const struct nameless_parts *parts, const struct function_code *function,
			 const u8 *bytes, u64 address, u64 size,
			 int (*visit)(void *data, const struct elf_piece *piece), void *data)
{
	const struct elf_piece *piece;
	int result = 0;
	u64 target;

	for (u64 i = 0; i < size && !result; i++) {
		if (bytes[i] == 0xe8 || !code_jump_read(address + i, bytes + i, size - i, &target))
			continue;
		piece = nameless_find(parts, function, target);
		if (piece)
			result = visit(data, piece);
	}
	return result;
}

static int stop(void *data, const struct elf_piece *piece)
{
	return 1;
}

static bool is_alone(const struct nameless_parts *parts, const struct function_code *function)
{
	int result = 0;

	for (size_t r = 0; r < function->range_count && !result; r++) {
		const struct code_range *range = &function->ranges[r];

		result = guesses_visit(parts, function, range->bytes, range->address,
				       range->size_bytes, stop, NULL);
	}
	return !result;
}

static bool are_pads_known(const struct ways *ways, const struct function_code *function)
{
	for (size_t i = 0; i < ways->pad_count; i++)
		if (!function_contains(function, ways->pads[i]))
			return false;
	return !ways->pads_unknown;
}

/* Part by part; each may lead to more. */
static int parts_add(const struct nameless_parts *parts, struct decoder *decoder,
		     const struct function_code *function, struct ways *ways,
		     int (*add)(void *data, u64 address, u64 size_bytes), void *data)
{
	const struct elf_piece *piece;
	int result = 0;

	do {
		for (; ways->range_count < function->range_count && !result; ways->range_count++) {
			const struct code_range *range = &function->ranges[ways->range_count];

			ways_read(ways, decoder, parts, function, range);
			if (range->nameless)
				result = pads_add(ways, parts, range);
		}
		piece = result || ways->too_many ? NULL : part_find(parts, decoder, function, ways);
		if (piece)
			result = add(data, piece->start, piece->end - piece->start);
	} while (piece && !result);
	return result;
}

int nameless_parts_find(struct nameless_parts *parts, struct decoder *decoder,
			const struct function_code *function,
			int (*add)(void *data, u64 address, u64 size_bytes), void *data,
			bool *ret_pads_unknown)
{
	struct ways ways = {0};
	int result = 0;

	if (!nameless_parts_pieces(parts))
		return 0;
	for (size_t r = 0; r < function->range_count && !result; r++)
		result = pads_add(&ways, parts, &function->ranges[r]);
	if (!result && (ways.pad_count || !is_alone(parts, function)))
		result = parts_add(parts, decoder, function, &ways, add, data);
	*ret_pads_unknown = !are_pads_known(&ways, function);
	free(ways.pads);
	return result;
}

struct guess {
	struct nameless_parts *parts;
	const struct function_code *function;
	int (*visit)(void *data, u64 address, u64 size_bytes);
	void *data;
	const struct elf_piece *seen[WAYS_MAX];
	size_t seen_count;
};

/* False: it was, or too many were. */
static bool is_new(struct guess *guess, const struct elf_piece *piece)
{
	for (size_t i = 0; i < guess->seen_count; i++)
		if (guess->seen[i] == piece)
			return false;
	if (guess->seen_count == WAYS_MAX)
		return false;
	guess->seen[guess->seen_count++] = piece;
	return true;
}

static int guess_visit(void *data, const struct elf_piece *piece)
{
	struct guess *guess = data;

	return is_new(guess, piece)
		       ? guess->visit(guess->data, piece->start, piece->end - piece->start)
		       : 0;
}

/* A part may have a part. */
static int guess_visit_both(void *data, const struct elf_piece *piece)
{
	struct guess *guess = data;
	_cleanup_free_ u8 *bytes = NULL;
	size_t seen = guess->seen_count;
	int result = guess_visit(data, piece);

	if (result || seen == guess->seen_count)
		return result;
	bytes = elf_piece_bytes(guess->parts->file, piece);
	return bytes ? guesses_visit(guess->parts, guess->function, bytes, piece->start,
				     piece->end - piece->start, guess_visit, guess)
		     : 0;
}

int nameless_parts_guess(struct nameless_parts *parts, const struct function_code *function,
			 int (*visit)(void *data, u64 address, u64 size_bytes), void *data)
{
	struct guess guess = {.parts = parts, .function = function, .visit = visit, .data = data};
	struct ways ways = {0};
	int result = 0;

	if (!nameless_parts_pieces(parts))
		return 0;
	for (size_t r = 0; r < function->range_count && !result; r++) {
		const struct code_range *range = &function->ranges[r];

		result = pads_add(&ways, parts, range);
		if (!result)
			result = guesses_visit(parts, function, range->bytes, range->address,
					       range->size_bytes, guess_visit_both, &guess);
	}
	for (size_t i = 0; i < ways.pad_count && !result; i++) {
		const struct elf_piece *piece = nameless_find(parts, function, ways.pads[i]);

		if (piece)
			result = guess_visit_both(&guess, piece);
	}
	free(ways.pads);
	return result;
}
