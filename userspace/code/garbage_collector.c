/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code/garbage_collector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "code/nameless_parts.h"
#include "elf/elf_pieces.h"

#define EXPORTED "PyGC_Collect"
/* The same in 3.4 to 3.15, with and without a lock of the interpreter. */
#define SAID		   "gc: collecting generation %d...\n"
#define FUNCTION_MAX_BYTES (64U << 10)
#define CALLEES_MAX	   64

/* What a file may cost, which may be made to cost much: then nothing is known of it. Interpreters, 3.8 to 3.13, cost 5, 3,080 and 10 at most. */
#define FUNCTIONS_MAX	 64
#define INSTRUCTIONS_MAX (256U << 10)
#define FRAMES_MAX	 1024 /* looked up */

/* A function with its parts, and what it does of interest. */
struct routine {
	struct code_range ranges[GARBAGE_COLLECTOR_PARTS_MAX];
	struct function_code code;
	u64 callees[CALLEES_MAX]; /* entries of functions without a name, each once */
	size_t callee_count;
	bool says; /* SAID */
	bool more; /* callees than fit */
};

struct search {
	const struct elf_file *file;
	const struct elf_symbols *symbols;
	struct decoder *decoder;
	struct nameless_parts *parts;
	struct garbage_collector *collector;
	u64 functions
		[FUNCTIONS_MAX]; /* entries of those that are looked at, each once: the exported one, what it calls, what these call */
	size_t function_count;
	size_t frame_count;
	u64 found; /* its entry; 0: none yet */
	bool doubtful;
};

static void routine_free(struct routine *routine)
{
	for (size_t r = 0; r < routine->code.range_count; r++)
		free((void *)routine->ranges[r].bytes);
	routine->code.range_count = 0;
}

struct growing {
	const struct search *search;
	struct routine *routine;
};

/* Where its exceptions go on is not looked at: C, which an interpreter is of, has none. */
static bool has_exceptions(const struct search *search, u64 address)
{
	const struct elf_piece *piece =
		elf_pieces_find(nameless_parts_pieces(search->parts), address);

	return piece && piece->exceptions;
}

/* -ENOENT: it can't be read, has exceptions, or has more parts than fit. */
static int part_add(void *data, u64 address, u64 size_bytes)
{
	struct growing *growing = data;
	struct function_code *code = &growing->routine->code;
	struct code_range range = {
		.address = address, .size_bytes = size_bytes, .nameless = code->range_count > 0};
	u8 *bytes;

	if (code->range_count == GARBAGE_COLLECTOR_PARTS_MAX || !size_bytes ||
	    size_bytes > FUNCTION_MAX_BYTES || has_exceptions(growing->search, address))
		return -ENOENT;
	bytes = malloc(size_bytes);
	if (!bytes)
		return -ENOMEM;
	if (elf_file_read_address(growing->search->file, address, bytes, size_bytes) !=
	    size_bytes) {
		free(bytes);
		return -ENOENT;
	}
	range.bytes = bytes;
	growing->routine->ranges[code->range_count++] = range;
	return 0;
}

static size_t read_address(const void *data, u64 address, void *ret_bytes, size_t size)
{
	return elf_file_read_address(data, address, ret_bytes, size);
}

static bool is_said_at(const struct search *search, u64 address)
{
	char bytes[sizeof(SAID)];

	return address &&
	       elf_file_read_address(search->file, address, bytes, sizeof(bytes)) ==
		       sizeof(bytes) &&
	       !memcmp(bytes, SAID, sizeof(bytes));
}

/* A function begins there, and has no name: nothing but the return address is on the stack. */
static bool is_nameless_entry(struct search *search, u64 address)
{
	const struct elf_pieces *pieces = nameless_parts_pieces(search->parts);
	const struct elf_piece *piece = pieces ? elf_pieces_find(pieces, address) : NULL;
	size_t count;

	if (!piece || piece->start != address)
		return false;
	count = elf_symbols_up_to(search->symbols, piece->end - 1);
	if (count && search->symbols->items[count - 1].address >= piece->start)
		return false;
	if (search->frame_count == FRAMES_MAX) {
		search->doubtful = true;
		return false;
	}
	search->frame_count++;
	return nameless_parts_frame(search->parts, address) == FRAME_NONE;
}

static bool is_own(const struct routine *routine, u64 address)
{
	for (size_t r = 0; r < routine->code.range_count; r++)
		if (address - routine->ranges[r].address < routine->ranges[r].size_bytes)
			return true;
	return false;
}

static bool is_among(const u64 *addresses, size_t count, u64 address)
{
	for (size_t i = 0; i < count; i++)
		if (addresses[i] == address)
			return true;
	return false;
}

static void callee_note(struct search *search, struct routine *routine, u64 address)
{
	if (is_own(routine, address) ||
	    is_among(routine->callees, routine->callee_count, address) ||
	    !is_nameless_entry(search, address))
		return;
	if (routine->callee_count == CALLEES_MAX)
		routine->more = true;
	else
		routine->callees[routine->callee_count++] = address;
}

static void instruction_note(struct search *search, struct routine *routine,
			     const struct instruction *instruction)
{
	u64 taken = instruction->data == DATA_LEA_RIP ? instruction->data_address
						      : instruction->constant;

	routine->says |= is_said_at(search, taken);
	if (instruction->has_target &&
	    (instruction->flow == FLOW_CALL || instruction->flow == FLOW_JUMP ||
	     instruction->flow == FLOW_JUMP_CONDITIONAL))
		callee_note(search, routine, instruction->target);
}

static void range_note(struct search *search, struct routine *routine,
		       const struct code_range *range)
{
	struct instruction instruction;

	for (u64 offset = 0; offset < range->size_bytes; offset += instruction.size_bytes) {
		if (!decoder_read(search->decoder, range->bytes + offset,
				  range->size_bytes - offset, range->address + offset,
				  &instruction))
			return;
		instruction_note(search, routine, &instruction);
	}
}

/* The one that begins there. 0, -ENOENT: it can't be read as a whole; or -ENOMEM. The caller frees it, always. */
static int routine_read(struct search *search, u64 address, struct routine *routine)
{
	const struct elf_pieces *pieces = nameless_parts_pieces(search->parts);
	const struct elf_piece *piece = pieces ? elf_pieces_find(pieces, address) : NULL;
	struct growing growing = {search, routine};
	bool pads_unknown;
	int result;

	*routine = (struct routine){
		.code = {.ranges = routine->ranges, .read = read_address, .data = search->file}};
	if (!piece || piece->start != address)
		return -ENOENT;
	result = part_add(&growing, address, piece->end - piece->start);
	if (!result)
		result = nameless_parts_find(search->parts, search->decoder, &routine->code,
					     part_add, &growing, &pads_unknown);
	for (size_t r = 0; r < routine->code.range_count && !result; r++)
		range_note(search, routine, &routine->ranges[r]);
	return result;
}

/* More than one: it is not known which of them is in every collection. */
static void found_note(struct search *search, const struct routine *routine)
{
	struct garbage_collector *collector = search->collector;

	if (search->found && search->found != routine->ranges[0].address)
		search->doubtful = true;
	if (search->found)
		return;
	search->found = routine->ranges[0].address;
	for (size_t r = 0; r < routine->code.range_count; r++)
		collector->parts[collector->count++] = (struct elf_extent){
			routine->ranges[r].address, routine->ranges[r].size_bytes};
}

/* What it calls is looked at too, once. */
static void callees_add(struct search *search, const struct routine *routine)
{
	search->doubtful |= routine->more;
	for (size_t i = 0; i < routine->callee_count; i++) {
		u64 address = routine->callees[i];

		if (is_among(search->functions, search->function_count, address))
			continue;
		if (search->function_count == FUNCTIONS_MAX) {
			search->doubtful = true;
			return;
		}
		search->functions[search->function_count++] = address;
	}
}

/* The function i; calls: those that it calls are looked at later. */
static int function_look(struct search *search, size_t i, struct routine *routine, bool calls)
{
	int result = routine_read(search, search->functions[i], routine);

	search->doubtful |= decoder_is_spent(search->decoder);
	if (!result && i && routine->says)
		found_note(search, routine);
	else if (!result && calls)
		callees_add(search, routine);
	routine_free(routine);
	return result == -ENOENT ? 0 : result;
}

/* The exported one, those that it calls, and those that these call. */
static int functions_look(struct search *search, struct routine *routine)
{
	size_t i = 0;
	int result = 0;

	for (unsigned depth = 0; depth <= 2 && !result; depth++) {
		size_t end = search->function_count;

		for (; i < end && !search->doubtful && !result; i++)
			result = function_look(search, i, routine, depth < 2);
	}
	return result;
}

int garbage_collector_find(const struct elf_file *file, const struct elf_symbols *symbols,
			   struct garbage_collector *ret_collector)
{
	struct garbage_collector collector = {0};
	struct search search = {.file = file, .symbols = symbols, .collector = &collector};
	struct routine *routine = NULL;
	u64 address;
	int result = -ENOMEM;

	*ret_collector = collector;
	if (elf_file_dynamic_symbol(file, EXPORTED, &address))
		return 0;
	routine = malloc(sizeof(*routine));
	search.parts = nameless_parts_create(file, symbols);
	if (routine && search.parts && !decoder_create(&search.decoder, NULL)) {
		decoder_limit(search.decoder, INSTRUCTIONS_MAX);
		search.functions[search.function_count++] = address;
		result = functions_look(&search, routine);
	}
	if (!result && !search.doubtful)
		*ret_collector = collector;
	decoder_free(search.decoder);
	nameless_parts_free(search.parts);
	free(routine);
	return result == -ENOMEM ? result : 0;
}

bool garbage_collector_holds(const struct garbage_collector *collector, u64 address)
{
	for (size_t i = 0; i < collector->count; i++)
		if (address - collector->parts[i].address < collector->parts[i].size_bytes)
			return true;
	return false;
}
