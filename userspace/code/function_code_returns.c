/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "code/function_code_parts.h"
#include "base/array.h"
#include "base/cleanup.h"

#define PATTERN_MAX_INSTRUCTIONS  32 /* from a jump back to where its table is loaded */
#define EPILOGUE_MAX_INSTRUCTIONS 8  /* from a jump back to what restores the stack */
#define RANGES_MAX		  16
#define QUESTIONS_MAX		  64 /* of a function */

struct reader {
	struct decoder *decoder;
	struct function_code function; /* with the ranges that are parts of it */
	struct code_range ranges[RANGES_MAX];
	struct instruction *instructions; /* of all ranges */
	size_t count, capacity;
	struct return_site *sites;
	size_t site_count, site_capacity;
	bool leaves_always; /* its indirect jumps: nothing leads back into it */
	size_t asked;
	const char *reason;
};

static int instructions_read(struct reader *reader)
{
	struct function_walk walk = {.decoder = reader->decoder, .function = &reader->function};
	struct instruction instruction;

	reader->count = 0;
	while (function_walk_next(&walk, &instruction)) {
		if (array_reserve(&reader->instructions, &reader->capacity, reader->count + 1))
			return -ENOMEM;
		reader->instructions[reader->count++] = instruction;
	}
	if (walk.unknown)
		reader->reason = "it has bytes that are no known instruction";
	return 0;
}

/* Who can't be asked says nothing, as one with too many questions: what is not known stays unknown. */
static void ask(struct reader *reader, u64 target)
{
	if (reader->function.questions && reader->asked < QUESTIONS_MAX &&
	    !code_sources_ask(reader->function.questions, target))
		reader->asked++;
}

/* ---- its parts ---- */

enum { JUMPED_TO = 1, CALLED = 2 };

static u8 range_use(const struct reader *reader, const struct code_range *range)
{
	u8 use = 0;

	for (size_t i = 0; i < reader->count; i++) {
		const struct instruction *instruction = &reader->instructions[i];

		if (!instruction->has_target ||
		    instruction->target - range->address >= range->size_bytes)
			continue;
		use |= instruction->flow == FLOW_CALL ? CALLED : JUMPED_TO;
	}
	return use;
}

static bool range_is_in(const struct reader *reader, const struct code_range *range)
{
	return function_contains(&reader->function, range->address);
}

/* Cold parts are jumped to, or begun by the unwinder; some compilers make them functions that are
 * called. */
static int ranges_choose(struct reader *reader, const struct function_code *function)
{
	bool uncertain = false, grown = true, jumped = false;
	int result = instructions_read(reader);

	while (!result && !reader->reason && grown) {
		grown = false;
		for (size_t r = 1; r < function->range_count && !grown; r++) {
			const struct code_range *range = &function->ranges[r];
			u8 use;

			if (range_is_in(reader, range))
				continue;
			use = range_use(reader, range);
			uncertain |= range->uncertain;
			jumped |= range->uncertain && use;
			if (use == (JUMPED_TO | CALLED))
				reader->reason = "its cold part is both called and jumped to";
			if (use == CALLED || (range->uncertain && !use))
				continue;
			if (reader->function.range_count == RANGES_MAX)
				reader->reason = "it has too many parts";
			else
				reader->ranges[reader->function.range_count++] = *range;
			grown = true;
		}
		if (grown && !reader->reason)
			result = instructions_read(reader);
	}
	if (uncertain && !jumped)
		reader->reason = "several functions have its name, and one of them a cold part";
	return result;
}

/* ---- who else enters it ---- */

/* Where its own jumps lead to, sorted; its own calls into itself are as bad as those of others. */
static u64 *own_targets(const struct reader *reader, size_t *ret_count)
{
	u64 *targets = calloc(reader->count + 1, sizeof(*targets));
	size_t count = 0;

	if (!targets)
		return NULL;
	for (size_t i = 0; i < reader->count; i++) {
		if (reader->instructions[i].has_target && reader->instructions[i].flow != FLOW_CALL)
			targets[count++] = reader->instructions[i].target;
	}
	qsort(targets, count, sizeof(*targets), array_compare_u64);
	*ret_count = count;
	return targets;
}

/* Does any but its own jumps lead there? What is not known is asked. */
static bool is_entrance(struct reader *reader, u64 address)
{
	const struct function_code *function = &reader->function;
	const struct code_source *sources;
	size_t count;

	if (function->is_function(function->data, address))
		return true;
	if (!function->sources || !code_sources_of(function->sources, address, &sources, &count)) {
		ask(reader, address);
		return true;
	}
	for (size_t i = 0; i < count; i++)
		if (sources[i].kind != SOURCE_JUMP ||
		    !function_contains(function, sources[i].address))
			return true;
	return false;
}

static int entrances_check(struct reader *reader)
{
	const struct function_code *function = &reader->function;
	size_t count = 0;
	_cleanup_free_ u64 *targets = own_targets(reader, &count);

	if (!targets)
		return -ENOMEM;
	for (size_t r = 0; r < function->range_count; r++) {
		const struct code_range *range = &function->ranges[r];
		u64 end = range->address + range->size_bytes;
		u64 at = range->address - range->nameless; /* at its start too */

		while ((at = code_references_find(function->references, REFERENCE_JUMP, at + 1,
						  end)) < end) {
			if (!bsearch(&at, targets, count, sizeof(at), array_compare_u64) &&
			    is_entrance(reader, at))
				reader->reason = "other code jumps into it, or has a name in it";
		}
	}
	return 0;
}

/* Behind a call of a function that never returns, the compiler ends a function too. */
static bool ends_open(const struct reader *reader)
{
	const struct instruction *last = NULL;

	for (size_t i = 0; i < reader->count; i++) {
		const struct instruction *instruction = &reader->instructions[i];
		bool range_ends = i + 1 == reader->count ||
				  reader->instructions[i + 1].address !=
					  instruction->address + instruction->size_bytes;

		if (!instruction->nop || !last)
			last = instruction;
		if (!range_ends)
			continue;
		if (function_goes_on(last))
			return true;
		last = NULL;
	}
	return false;
}

/* ---- indirect jumps ---- */

static bool has_pointer_inside(const struct reader *reader)
{
	const struct function_code *function = &reader->function;

	for (size_t r = 0; r < function->range_count; r++) {
		const struct code_range *range = &function->ranges[r];
		u64 end = range->address + range->size_bytes;

		if (code_references_find(function->references, REFERENCE_POINTER,
					 range->address + (r ? 0 : 1), end) < end)
			return true;
	}
	return false;
}

static bool table_entry(const struct function_code *function, u64 table, size_t entry_bytes,
			u64 index, u64 *ret_target)
{
	u8 bytes[sizeof(u64)];
	int32_t distance;

	if (function->read(function->data, table + index * entry_bytes, bytes, entry_bytes) !=
	    entry_bytes)
		return false;
	if (entry_bytes == sizeof(u64)) {
		memcpy(ret_target, bytes, sizeof(u64));
		return true;
	}
	memcpy(&distance, bytes, sizeof(distance));
	*ret_target = table + (u64)(s64)distance;
	return true;
}

static bool is_nameless_code(const struct function_code *function, u64 address)
{
	return function->frame(function->data, address) != FRAME_UNKNOWN &&
	       !function->is_function(function->data, address);
}

/* Can jumps by registers only leave it, since no pointer and no jump table leads into it? */
static bool leaves_always(const struct reader *reader)
{
	const struct function_code *function = &reader->function;

	if (has_pointer_inside(reader))
		return false;
	for (size_t i = 0; i < reader->count; i++) {
		const struct instruction *instruction = &reader->instructions[i];
		u64 target;

		if (function_computes_code(function, instruction))
			return false;
		/* Its cases may lie in parts that are not known as such. */
		if (instruction->data == DATA_LEA_RIP &&
		    table_entry(function, instruction->data_address, sizeof(u32), 0, &target) &&
		    (function_contains(function, target) || is_nameless_code(function, target)))
			return false;
	}
	return true;
}

/* All of its entries, as many as were compared for, lead into the function. */
static bool is_own_table(const struct reader *reader, u64 table, size_t entry_bytes, u64 entries)
{
	const struct function_code *function = &reader->function;
	u64 target;

	if (!entries || entries > FUNCTION_TABLE_MAX_BYTES / entry_bytes)
		return false;
	for (u64 i = 0; i < entries; i++) {
		if (!table_entry(function, table, entry_bytes, i, &target) ||
		    !function_contains(function, target))
			return false;
	}
	return true;
}

/* The nearest instruction before `before` that may change the register; NULL: none that is near. */
static const struct instruction *writer_find(const struct reader *reader, size_t before,
					     size_t nearest, u8 register_number)
{
	for (size_t i = before; i-- > nearest;) {
		if (register_number < 16 && reader->instructions[i].written & 1U << register_number)
			return &reader->instructions[i];
	}
	return NULL;
}

/* The number of entries that the comparison before the jump lets through; 0: not known. */
static u64 entries_find(const struct reader *reader, size_t jump, size_t nearest)
{
	for (size_t i = jump; i-- > nearest;) {
		const struct instruction *instruction = &reader->instructions[i];

		if (instruction->data == DATA_COMPARE)
			return instruction->compared < 0 ? 0 : (u64)instruction->compared + 1;
	}
	return 0;
}

/* Tables are loaded long before where a loop surrounds the switch: any load of this register will
 * do, since what it points to is checked. */
static bool is_own_table_register(const struct reader *reader, u8 base, u64 entries)
{
	for (size_t i = 0; i < reader->count; i++) {
		const struct instruction *instruction = &reader->instructions[i];

		if (instruction->data == DATA_LEA_RIP && instruction->destination == base &&
		    is_own_table(reader, instruction->data_address, sizeof(u32), entries))
			return true;
	}
	return false;
}

/* movslq (base, index, 4), reg; add base, reg; jmp *reg, or with the roles of the sum's registers
 * changed. */
static bool is_distance_switch(const struct reader *reader, const struct instruction *add,
			       size_t nearest, u64 entries)
{
	size_t before = (size_t)(add - reader->instructions);
	u8 registers[] = {add->destination, add->source};

	for (size_t i = 0; i < ARRAY_SIZE(registers); i++) {
		u8 base = registers[!i];
		const struct instruction *load = writer_find(reader, before, nearest, registers[i]);

		if (load && load->data == DATA_LOAD_S32 && load->memory.base == base &&
		    load->memory.index < 16 && load->memory.scale == 4 &&
		    !load->memory.displacement && is_own_table_register(reader, base, entries))
			return true;
	}
	return false;
}

/* table(, index, 8): where the file is not moved, its entries are addresses. */
static bool is_address_switch(const struct reader *reader, const struct instruction_memory *memory,
			      u64 entries)
{
	return memory->base == REGISTER_NONE && memory->index < 16 && memory->scale == 8 &&
	       is_own_table(reader, (u64)memory->displacement, sizeof(u64), entries);
}

static bool is_switch(const struct reader *reader, size_t index)
{
	const struct instruction *jump = &reader->instructions[index], *writer;
	size_t nearest = index > PATTERN_MAX_INSTRUCTIONS ? index - PATTERN_MAX_INSTRUCTIONS : 0;
	u64 entries = entries_find(reader, index, nearest);

	if (jump->flow == FLOW_JUMP_MEMORY)
		return is_address_switch(reader, &jump->memory, entries);
	writer = writer_find(reader, index, nearest, jump->jump_register);
	if (!writer)
		return false;
	if (writer->data == DATA_LOAD_U64)
		return is_address_switch(reader, &writer->memory, entries);
	return writer->data == DATA_ADD && is_distance_switch(reader, writer, nearest, entries);
}

/* Is it behind what gives the stack back, as only a way out is? */
static bool is_behind_epilogue(const struct reader *reader, size_t index)
{
	const struct instruction *jump = &reader->instructions[index];

	for (size_t i = index; i-- > 0 && index - i <= EPILOGUE_MAX_INSTRUCTIONS;) {
		const struct instruction *instruction = &reader->instructions[i];

		if (instruction->flow != FLOW_NEXT)
			return false;
		if (instruction->restores_stack)
			return instruction->destination == REGISTER_NONE ||
			       instruction->destination != jump->jump_register;
	}
	return false;
}

/* ---- sites ---- */

static u64 file_offset_of(const struct reader *reader, u64 address)
{
	for (size_t r = 0; r < reader->function.range_count; r++) {
		const struct code_range *range = &reader->ranges[r];

		if (address - range->address < range->size_bytes)
			return range->file_offset + (address - range->address);
	}
	return 0;
}

static int site_add(struct reader *reader, const struct instruction *instruction,
		    enum return_site_kind kind)
{
	struct return_site site = {
		.address = instruction->address,
		.file_offset = file_offset_of(reader, instruction->address),
		.kind = kind,
		.popped_bytes = instruction->popped_bytes,
		.instruction_bytes = instruction->size_bytes,
		.condition = instruction->condition,
		.register_number = instruction->jump_register,
		.base = instruction->memory.base,
		.index = instruction->memory.index,
		.scale = instruction->memory.scale,
		.displacement = instruction->memory.displacement,
	};

	if (array_reserve(&reader->sites, &reader->site_capacity, reader->site_count + 1))
		return -ENOMEM;
	reader->sites[reader->site_count++] = site;
	return 0;
}

/* Does anybody call it? Then it is a function, though without a name. */
static bool is_nameless_function(struct reader *reader, u64 address)
{
	const struct function_code *function = &reader->function;
	const struct code_source *sources;
	size_t count;

	if (!function->sources || !code_sources_of(function->sources, address, &sources, &count)) {
		ask(reader, address);
		return false;
	}
	return count && sources->kind == SOURCE_CALL;
}

/* Who leaves a function has given back the stack: else it is a jump within one. Not every compiler tells in the unwind table of
 * what an epilogue does. */
static bool leaves_frame(const struct reader *reader, size_t index)
{
	const struct function_code *function = &reader->function;

	return function->frame(function->data, reader->instructions[index].address) ==
		       FRAME_THERE &&
	       !is_behind_epilogue(reader, index);
}

static int relative_jump_read(struct reader *reader, size_t index)
{
	const struct instruction *jump = &reader->instructions[index];
	const struct function_code *function = &reader->function;

	if (jump->has_target && function_contains(function, jump->target))
		return 0;
	if (!jump->has_target || (!function->is_function(function->data, jump->target) &&
				  !function_is_stub(reader->decoder, function, jump->target) &&
				  !is_nameless_function(reader, jump->target)))
		reader->reason = "it jumps to code without a name, which may be a part of it";
	else if (leaves_frame(reader, index))
		reader->reason = "it jumps to another function, but has not given back its stack";
	if (reader->reason)
		return 0;
	if (jump->flow == FLOW_JUMP)
		return site_add(reader, jump, RETURN_SITE_JUMP);
	if (jump->condition == INSTRUCTION_NO_CONDITION) {
		reader->reason = "it is left by a loop instruction";
		return 0;
	}
	return site_add(reader, jump, RETURN_SITE_JUMP_CONDITIONAL);
}

static int indirect_jump_read(struct reader *reader, size_t index)
{
	const struct instruction *jump = &reader->instructions[index];

	if (!reader->leaves_always && is_switch(reader, index))
		return 0;
	if (jump->notrack)
		reader->reason = "it has a notrack jump, which the kernel does not probe";
	else if ((!reader->leaves_always || leaves_frame(reader, index)) &&
		 !function_is_slot_jump(jump) && !is_behind_epilogue(reader, index))
		reader->reason = "it has a computed jump that may be a switch or its end";
	else if (jump->flow == FLOW_JUMP_REGISTER)
		return site_add(reader, jump, RETURN_SITE_JUMP_REGISTER);
	else if (jump->memory.other_segment)
		reader->reason = "it ends by a jump through thread-local memory";
	else
		return site_add(reader, jump, RETURN_SITE_JUMP_MEMORY);
	return 0;
}

static int exit_read(struct reader *reader, size_t index)
{
	const struct instruction *instruction = &reader->instructions[index];

	switch (instruction->flow) {
	case FLOW_RETURN:
		return site_add(reader, instruction, RETURN_SITE_RET);
	case FLOW_JUMP:
	case FLOW_JUMP_CONDITIONAL:
		return relative_jump_read(reader, index);
	case FLOW_JUMP_REGISTER:
	case FLOW_JUMP_MEMORY:
		return indirect_jump_read(reader, index);
	case FLOW_OTHER_RETURN:
		reader->reason = "it is left by an instruction of the operating system";
		return 0;
	default:
		return 0;
	}
}

static int exits_read(struct reader *reader)
{
	int result = entrances_check(reader);

	if (!reader->reason && ends_open(reader))
		reader->reason = "it goes on behind its end";
	if (!result && !reader->reason)
		reader->leaves_always = leaves_always(reader);
	for (size_t i = 0; i < reader->count && !result && !reader->reason; i++)
		result = exit_read(reader, i);
	return result;
}

/* What the kernel refuses at one site it refuses for all. */
static void sites_check(struct reader *reader)
{
	for (size_t i = 0; i < reader->site_count && !reader->reason; i++) {
		struct return_site *site = &reader->sites[i];
		enum instruction_cost cost;

		for (size_t r = 0; r < reader->function.range_count; r++) {
			const struct code_range *range = &reader->ranges[r];
			u64 offset = site->address - range->address;

			if (offset >= range->size_bytes)
				continue;
			reader->reason =
				decoder_check(reader->decoder, range->bytes + offset,
					      range->size_bytes - offset, site->address, &cost);
			site_bytes_keep(reader->decoder, range->bytes + offset,
					range->size_bytes - offset, site->address, &site->bytes);
		}
	}
}

static int site_compare(const void *left, const void *right)
{
	const struct return_site *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

int function_code_returns(struct decoder *decoder, const struct function_code *function,
			  struct return_site **ret_sites, size_t *ret_count,
			  const char **ret_reason)
{
	struct reader reader = {.decoder = decoder, .function = *function};
	int result = 0;

	reader.ranges[0] = function->ranges[0];
	reader.function.ranges = reader.ranges;
	reader.function.range_count = 1;
	if (function->size_unknown)
		reader.reason = "its size is unknown";
	else if (!function->references)
		reader.reason = "it is not known what jumps into it";
	else if (function->pads_unknown)
		reader.reason = "exceptions go on in code that is not known to be a part of it";
	else
		result = ranges_choose(&reader, function);
	if (!result && !reader.reason)
		result = exits_read(&reader);
	if (!result)
		sites_check(&reader);
	free(reader.instructions);
	if (result || reader.reason) {
		free(reader.sites);
		reader.sites = NULL;
		reader.site_count = 0;
	}
	if (result)
		return result;
	if (reader.site_count)
		qsort(reader.sites, reader.site_count, sizeof(*reader.sites), site_compare);
	*ret_sites = reader.sites;
	*ret_count = reader.site_count;
	*ret_reason = reader.reason;
	return 0;
}
