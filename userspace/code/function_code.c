/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code/function_code.h"

#include <errno.h>
#include <string.h>

#include "code/code_jumps_x86_64.h"
#include "code/function_code_parts.h"

#define ENTRY_BLOCK_MAX_BYTES 128
#define RESTART_MAX_BYTES     1024 /* with all that it may save and restore */
#define SHORT_JUMP_BACK	      128
#define SHORT_JUMP_FORWARD    127

/* ---- the entry block ---- */

/* Is anything but the start referred to, up to and including `last`? */
static bool is_referred_to(const struct function_code *function, u64 first, u64 last)
{
	const struct code_references *references = function->references;

	return code_references_find(references, REFERENCE_JUMP, first, last + 1) <= last ||
	       code_references_find(references, REFERENCE_POINTER, first, last + 1) <= last;
}

/* What the entry block has done so far with the registers that may hold arguments. */
struct arguments {
	u32 read;	 /* so they do */
	u32 overwritten; /* unread: so they do not, or nobody looks at them */
};

/* Are the stack pointer and the arguments that the function looks at the same behind it? */
static bool keeps_arguments(struct arguments *arguments, const struct instruction *instruction)
{
	const u32 all = REGISTERS_ARGUMENTS | REGISTERS_HIDDEN;
	u32 first_written = instruction->written & ~arguments->overwritten;

	/* The rest of a register that is overwritten in part may be an argument still. */
	if (instruction->flow != FLOW_NEXT || !(instruction->harmless || instruction->stores) ||
	    instruction->written & REGISTERS_STACK ||
	    first_written & REGISTERS_ARGUMENTS & ~instruction->replaced)
		return false;
	arguments->read |= instruction->read & all & ~arguments->overwritten;
	arguments->overwritten |= instruction->written & all & ~arguments->read;
	return !(instruction->written & arguments->read);
}

/* Kinds of places behind the first instruction, the better first: PLACE_* that they need. */
static const unsigned place_kinds[] = {0, PLACE_DISPLACED, PLACE_STACK_MOVED,
				       PLACE_STACK_MOVED | PLACE_DISPLACED};

struct candidates {
	struct function_place
		places[PLACE_ALLOWED_MAX]; /* the first of each kind; by what it needs */
	bool found[PLACE_ALLOWED_MAX];
	u32 stack_bytes; /* how far the stack pointer has moved */
};

/* Does it make the function's frame? Below the stack pointer is nothing of anybody's then. */
static bool makes_frame(struct candidates *candidates, const struct instruction *instruction)
{
	if (candidates->stack_bytes || !instruction->frame_bytes)
		return false;
	candidates->stack_bytes = instruction->frame_bytes;
	return true;
}

/* Memory that was nobody's when the function was called. */
static bool writes_own_frame(const struct candidates *candidates,
			     const struct instruction *instruction)
{
	const struct instruction_memory *memory = &instruction->memory;

	return instruction->frame_store_bytes && memory->displacement >= 0 &&
	       (u64)memory->displacement + instruction->frame_store_bytes <=
		       candidates->stack_bytes;
}

static void candidate_add(struct candidates *candidates, struct decoder *decoder,
			  const struct code_range *range, u64 offset, u32 lost_arguments)
{
	const u8 *bytes = range->bytes + offset;
	size_t size = range->size_bytes - offset;
	struct function_place place = {.address = range->address + offset,
				       .file_offset = range->file_offset + offset,
				       .placed_bytes = (u8)offset,
				       .stack_bytes = candidates->stack_bytes,
				       .lost_arguments = lost_arguments,
				       .cost = COST_CHEAP};
	unsigned needs = candidates->stack_bytes ? PLACE_STACK_MOVED : 0;
	enum instruction_cost cost;

	if (decoder_check(decoder, bytes, size, place.address, &cost))
		return;
	if (cost != COST_CHEAP) {
		needs |= PLACE_DISPLACED;
		if (!decoder_displace(decoder, bytes, size, place.address, &place.displaced))
			return;
	}
	if (!candidates->found[needs])
		candidates->places[needs] = place;
	candidates->found[needs] = true;
}

/* Of the entry block behind the first instruction. */
static void candidates_find(struct decoder *decoder, const struct function_code *function,
			    struct candidates *candidates)
{
	const struct code_range *range = &function->ranges[0];
	struct arguments arguments = {0};
	struct instruction instruction;

	for (u64 offset = 0; offset < range->size_bytes && offset < ENTRY_BLOCK_MAX_BYTES;
	     offset += instruction.size_bytes) {
		if (!decoder_read(decoder, range->bytes + offset, range->size_bytes - offset,
				  range->address + offset, &instruction))
			return;
		if (offset && !instruction.five_byte_nop)
			candidate_add(candidates, decoder, range, offset,
				      arguments.overwritten & REGISTERS_ARGUMENTS);
		if (makes_frame(candidates, &instruction))
			continue;
		instruction.stores |= writes_own_frame(candidates, &instruction);
		if (!keeps_arguments(&arguments, &instruction) ||
		    (function->size_unknown && !instruction.endbr64))
			return;
	}
}

/* ---- functions that begin again ---- */

/* Does what is at `target` call once and then jump to the function's start, whatever happens? */
static bool leads_back(struct decoder *decoder, const struct function_code *function, u64 target)
{
	const struct code_range *range = &function->ranges[0];
	struct instruction instruction;
	size_t calls = 0;

	for (u64 offset = target - range->address, end = offset + RESTART_MAX_BYTES;
	     offset < range->size_bytes && offset < end; offset += instruction.size_bytes) {
		if (!decoder_read(decoder, range->bytes + offset, range->size_bytes - offset,
				  range->address + offset, &instruction))
			return false;
		if (instruction.flow == FLOW_JUMP && instruction.target == range->address)
			return calls == 1;
		calls += instruction.flow == FLOW_CALL;
		if (instruction.flow != FLOW_NEXT && instruction.flow != FLOW_CALL)
			return false;
	}
	return false;
}

/* The last conditional jump of the entry block that leads back to the start. What was done before it is no matter:
 * it is done again. */
static bool restart_find(struct decoder *decoder, const struct function_code *function,
			 u64 *ret_offset, u8 *ret_condition)
{
	const struct code_range *range = &function->ranges[0];
	struct instruction instruction;
	enum instruction_cost cost;
	bool found = false;

	for (u64 offset = 0; offset < range->size_bytes && offset < ENTRY_BLOCK_MAX_BYTES;
	     offset += instruction.size_bytes) {
		if (!decoder_read(decoder, range->bytes + offset, range->size_bytes - offset,
				  range->address + offset, &instruction))
			break;
		if (instruction.flow == FLOW_NEXT && instruction.harmless &&
		    !(instruction.written & REGISTERS_STACK))
			continue;
		if (!offset || instruction.flow != FLOW_JUMP_CONDITIONAL ||
		    instruction.condition == INSTRUCTION_NO_CONDITION ||
		    decoder_check(decoder, range->bytes + offset, range->size_bytes - offset,
				  range->address + offset, &cost) ||
		    !leads_back(decoder, function, instruction.target))
			break;
		*ret_offset = offset;
		*ret_condition = instruction.condition;
		found = true;
	}
	return found;
}

/* ---- who else could jump there ---- */

/* Does a byte anywhere near, read as a short jump, lead to [first, last]? */
static bool short_jump_reaches(const struct function_code *function, u64 first, u64 last)
{
	u8 bytes[ENTRY_BLOCK_MAX_BYTES + SHORT_JUMP_BACK + SHORT_JUMP_FORWARD + 16];
	u64 from = first - SHORT_JUMP_FORWARD - SHORT_JUMP_BYTES;
	u64 to = last + SHORT_JUMP_BACK;
	size_t size;

	/* The first function of a file has nothing, or something else, in front. */
	for (size = 0; from < first && !size; from += size ? 0 : 1)
		size = function->read(function->data, from, bytes, to - from);
	for (size_t i = 0; i < size; i++) {
		u64 target;

		if (code_short_jump_read(from + i, bytes + i, size - i, &target) &&
		    target >= first && target <= last)
			return true;
	}
	return size < last - from;
}

/* jmp *: without its two bytes at any offset there is none. */
static bool may_jump_indirectly(const struct function_code *function)
{
	for (size_t r = 0; r < function->range_count; r++) {
		const struct code_range *range = &function->ranges[r];

		for (u64 i = 0; i + 1 < range->size_bytes; i++) {
			if (range->bytes[i] == 0xff && (range->bytes[i + 1] & 0x38) == 0x20)
				return true;
		}
	}
	return false;
}

/* Could a jump by a register or by memory lead to [first, last]? Pointers to there would be among
 * the references: what remains is what the function itself computes. */
static bool indirect_jump_reaches(struct decoder *decoder, const struct function_code *function,
				  u64 first, u64 last)
{
	struct function_walk walk = {.decoder = decoder, .function = function};
	struct instruction instruction;
	bool indirect = false, computes = false;

	while (function_walk_next(&walk, &instruction)) {
		indirect |= instruction.flow == FLOW_JUMP_REGISTER ||
			    instruction.flow == FLOW_JUMP_MEMORY;
		computes |= function_computes_code(function, &instruction);
	}
	if (walk.unknown || !indirect || computes)
		return walk.unknown || indirect;
	walk = (struct function_walk){.decoder = decoder, .function = function};
	while (function_walk_next(&walk, &instruction)) {
		if (instruction.data == DATA_LEA_RIP &&
		    function_table_reaches(function, instruction.data_address, first, last))
			return true;
	}
	return false;
}

bool function_walk_next(struct function_walk *walk, struct instruction *ret_instruction)
{
	const struct code_range *range = &walk->function->ranges[walk->range];

	while (walk->offset >= range->size_bytes) {
		if (++walk->range >= walk->function->range_count)
			return false;
		walk->offset = 0;
		range++;
	}
	if (!decoder_read(walk->decoder, range->bytes + walk->offset,
			  range->size_bytes - walk->offset, range->address + walk->offset,
			  ret_instruction)) {
		walk->unknown = true;
		return false;
	}
	walk->offset += ret_instruction->size_bytes;
	return true;
}

bool function_contains(const struct function_code *function, u64 address)
{
	for (size_t r = 0; r < function->range_count; r++) {
		const struct code_range *range = &function->ranges[r];

		if (address - range->address < range->size_bytes)
			return true;
	}
	return false;
}

bool function_computes_code(const struct function_code *function,
			    const struct instruction *instruction)
{
	if (instruction->data == DATA_CONSTANT_U64)
		return true;
	if (instruction->data == DATA_LEA_RIP)
		return function_contains(function, instruction->data_address);
	return function_contains(function, instruction->constant);
}

bool function_table_reaches(const struct function_code *function, u64 table, u64 first, u64 last)
{
	u8 bytes[4096];
	size_t size;

	for (u64 offset = 0; offset < FUNCTION_TABLE_MAX_BYTES; offset += size) {
		size = function->read(function->data, table + offset, bytes, sizeof(bytes)) & ~3UL;
		if (!size)
			return false;
		for (size_t i = 0; i < size; i += sizeof(int32_t)) {
			int32_t distance;

			memcpy(&distance, bytes + i, sizeof(distance));
			if (table + (u64)(s64)distance - first <= last - first)
				return true;
		}
	}
	return false;
}

bool function_is_slot_jump(const struct instruction *jump)
{
	return jump->flow == FLOW_JUMP_MEMORY && jump->memory.index == REGISTER_NONE &&
	       (jump->memory.base == REGISTER_RIP || jump->memory.base == REGISTER_NONE);
}

bool function_is_stub(struct decoder *decoder, const struct function_code *function, u64 address)
{
	u8 bytes[2 * INSTRUCTION_MAX_BYTES];
	struct instruction instruction;
	size_t size = function->read(function->data, address, bytes, sizeof(bytes)), skipped = 0;

	if (!decoder_read(decoder, bytes, size, address, &instruction))
		return false;
	if (instruction.endbr64)
		skipped = instruction.size_bytes;
	return decoder_read(decoder, bytes + skipped, size - skipped, address + skipped,
			    &instruction) &&
	       function_is_slot_jump(&instruction);
}

/* Is it certain that [first, last] is only come to from the start? */
static bool is_only_fallen_into(struct decoder *decoder, const struct function_code *function,
				u64 first, u64 last)
{
	return function->references && !is_referred_to(function, first, last) &&
	       !short_jump_reaches(function, first, last) &&
	       !(may_jump_indirectly(function) &&
		 indirect_jump_reaches(decoder, function, first, last));
}

/* The same by what the function itself says: what only looks like a jump elsewhere does not count. A function
 * that begins again would else often be left out, and all that could come of a mistake is a call too many. */
static bool is_jumped_to(struct decoder *decoder, const struct function_code *function, u64 first,
			 u64 last)
{
	struct function_walk walk = {.decoder = decoder, .function = function};
	struct instruction instruction;

	while (function_walk_next(&walk, &instruction))
		if (instruction.has_target && instruction.target >= first &&
		    instruction.target <= last)
			return true;
	return walk.unknown;
}

static void keep_bytes(struct decoder *decoder, const struct code_range *range,
		       struct function_place *place)
{
	u64 offset = place->address - range->address;

	site_bytes_keep(decoder, range->bytes, range->size_bytes, range->address, &place->first);
	site_bytes_keep(decoder, range->bytes + offset, range->size_bytes - offset, place->address,
			&place->bytes);
}

void function_code_place_first(struct decoder *decoder, const struct function_code *function,
			       struct function_place *ret_place)
{
	const struct code_range *range = &function->ranges[0];
	struct function_place place = {.address = range->address,
				       .file_offset = range->file_offset};

	keep_bytes(decoder, range, &place);
	if (decoder_check(decoder, range->bytes, range->size_bytes, range->address, &place.cost) ||
	    (place.cost == COST_STEPPED &&
	     decoder_displace(decoder, range->bytes, range->size_bytes, range->address,
			      &place.displaced)))
		place.cost = COST_CHEAP;
	*ret_place = place;
}

static bool is_long_nop(struct decoder *decoder, const struct code_range *range)
{
	struct instruction instruction;

	return decoder_read(decoder, range->bytes, range->size_bytes, range->address,
			    &instruction) &&
	       instruction.five_byte_nop;
}

/* Behind the nops that the function begins with, if nothing else leads there. It may be stepped. */
static void place_behind_nops(struct decoder *decoder, const struct function_code *function,
			      struct function_place *place)
{
	const struct code_range *range = &function->ranges[0];
	struct instruction instruction;
	enum instruction_cost cost;
	u64 offset = 0, first = 0;

	do {
		if (offset >= ENTRY_BLOCK_MAX_BYTES ||
		    !decoder_read(decoder, range->bytes + offset, range->size_bytes - offset,
				  range->address + offset, &instruction))
			return;
		offset += instruction.nop ? instruction.size_bytes : 0;
		first = first ? first : offset;
	} while (instruction.nop);
	if (decoder_check(decoder, range->bytes + offset, range->size_bytes - offset,
			  range->address + offset, &cost) ||
	    !is_only_fallen_into(decoder, function, range->address + first,
				 range->address + offset))
		return;
	place->address = range->address + offset;
	place->file_offset = range->file_offset + offset;
	place->placed_bytes = (u8)offset;
	place->cost = cost;
}

/* Of those that are allowed the best one. */
static void place_choose(struct decoder *decoder, const struct function_code *function,
			 unsigned allowed, struct function_place *place)
{
	struct candidates candidates = {0};
	struct function_place first;

	function_code_place_first(decoder, function, &first);
	candidates_find(decoder, function, &candidates);
	for (size_t i = 0; i < ARRAY_SIZE(place_kinds); i++) {
		const struct function_place *candidate = &candidates.places[place_kinds[i]];

		if (place_kinds[i] & ~allowed)
			continue;
		/* At the start: nothing else leads past it. */
		if (place_kinds[i] == PLACE_DISPLACED && first.displaced.operation) {
			*place = first;
			return;
		}
		if (candidates.found[place_kinds[i]] &&
		    is_only_fallen_into(decoder, function, function->ranges[0].address + 1,
					candidate->address)) {
			*place = *candidate;
			return;
		}
	}
	if (allowed & PLACE_NO_LONG_NOP)
		place_behind_nops(decoder, function, place);
}

const char *function_code_place(struct decoder *decoder, const struct function_code *function,
				unsigned allowed, struct function_place *ret_place)
{
	const struct code_range *range = &function->ranges[0];
	struct function_place place = {.address = range->address,
				       .file_offset = range->file_offset};
	const char *refused = decoder_check(decoder, range->bytes, range->size_bytes,
					    range->address, &place.cost);
	u64 offset = 0;

	if (refused)
		return refused;
	if (restart_find(decoder, function, &offset, &place.condition)) {
		if (is_jumped_to(decoder, function, range->address + 1, range->address + offset))
			return "it begins again when its stack has grown, and it is not known "
			       "which of its beginnings are calls";
		place.restarts = true;
		place.lost_arguments = REGISTERS_ARGUMENTS;
		place.address += offset;
		place.file_offset += offset;
		place.placed_bytes = (u8)offset;
		place.cost = COST_CHEAP;
	} else {
		if (allowed & PLACE_NO_LONG_NOP && is_long_nop(decoder, range))
			place.cost = COST_STEPPED;
		if (place.cost == COST_STEPPED)
			place_choose(decoder, function, allowed, &place);
		place.long_nop = place.address == range->address && is_long_nop(decoder, range);
	}
	keep_bytes(decoder, range, &place);
	*ret_place = place;
	return NULL;
}
