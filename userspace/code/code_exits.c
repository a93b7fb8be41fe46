/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code/code_exits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "code/instruction.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/map.h"

#define INSTRUCTIONS_MAX 20000
#define SITES_MAX	 64

struct walk {
	const struct elf_file *file;
	const struct elf_symbols *symbols;
	struct decoder *decoder;
	struct map seen;
	u64 *open; /* addresses still to be followed */
	size_t open_count, open_capacity;
	struct return_site *sites;
	size_t site_count, site_capacity;
	bool complete;
};

static int walk_later(struct walk *walk, u64 address)
{
	if (map_find(&walk->seen, address, 0))
		return 0;
	if (array_reserve(&walk->open, &walk->open_capacity, walk->open_count + 1))
		return -ENOMEM;
	walk->open[walk->open_count++] = address;
	return 0;
}

static int add_site(struct walk *walk, enum return_site_kind kind,
		    const struct instruction *instruction, const u8 *bytes, size_t size)
{
	enum instruction_cost cost;
	u64 file_offset;

	if (walk->site_count == SITES_MAX ||
	    decoder_check(walk->decoder, bytes, size, instruction->address, &cost) ||
	    elf_file_offset(walk->file, instruction->address, &file_offset)) {
		walk->complete = false;
		return 0;
	}
	if (array_reserve(&walk->sites, &walk->site_capacity, walk->site_count + 1))
		return -ENOMEM;
	walk->sites[walk->site_count++] = (struct return_site){
		.address = instruction->address,
		.file_offset = file_offset,
		.kind = kind,
		.popped_bytes = instruction->popped_bytes,
		.instruction_bytes = instruction->size_bytes,
	};
	site_bytes_keep(walk->decoder, bytes, size, instruction->address,
			&walk->sites[walk->site_count - 1].bytes);
	return 0;
}

/* ---- jumps to what is bound when the file is loaded ---- */

static bool read_instruction(struct walk *walk, u64 address, u8 bytes[INSTRUCTION_MAX_BYTES],
			     size_t *ret_size, struct instruction *ret_instruction)
{
	u64 offset;

	if (elf_file_offset(walk->file, address, &offset))
		return false;
	*ret_size = elf_file_read_address(walk->file, address, bytes, INSTRUCTION_MAX_BYTES);
	return *ret_size && decoder_read(walk->decoder, bytes, *ret_size, address, ret_instruction);
}

/* Of jmp *slot(%rip). */
static bool binding_of(const struct walk *walk, const struct instruction *jump,
		       struct elf_binding *ret_binding)
{
	const struct instruction_memory *memory = &jump->memory;

	return jump->flow == FLOW_JUMP_MEMORY && memory->base == REGISTER_RIP &&
	       memory->index == REGISTER_NONE && !memory->other_segment &&
	       !elf_file_binding(walk->file,
				 jump->address + jump->size_bytes + (u64)memory->displacement,
				 ret_binding);
}

static bool is_name_of_first(const char *name)
{
	static const char *const names[] = {"memset", "memcpy", "memmove"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static bool has_name_of_first(const struct walk *walk, u64 address)
{
	const struct elf_symbol *symbols = walk->symbols->items;

	for (size_t i = elf_symbols_up_to(walk->symbols, address);
	     i > 0 && symbols[i - 1].address == address; i--)
		if (is_name_of_first(symbols[i - 1].name))
			return true;
	return false;
}

/* Does what begins there give back its first argument, as it is or behind the PLT? */
static bool gives_back_first(struct walk *walk, u64 address)
{
	struct instruction instruction;
	u8 bytes[INSTRUCTION_MAX_BYTES];
	struct elf_binding binding;
	size_t size;

	if (has_name_of_first(walk, address))
		return true;
	if (!read_instruction(walk, address, bytes, &size, &instruction) ||
	    (instruction.endbr64 && !read_instruction(walk, address + instruction.size_bytes, bytes,
						      &size, &instruction)) ||
	    !binding_of(walk, &instruction, &binding))
		return false;
	return is_name_of_first(binding.name) ||
	       (binding.address && has_name_of_first(walk, binding.address));
}

/* Only one that the file has itself is known. */
static int slot_jump_follow(struct walk *walk, const struct instruction *jump)
{
	struct elf_binding binding;

	if (binding_of(walk, jump, &binding) && binding.address && !binding.resolver)
		return walk_later(walk, binding.address);
	walk->complete = false;
	return 0;
}

/* ---- all ways ---- */

/* One instruction; *ret_next: where it goes on behind it, 0: nowhere. */
static int walk_step(struct walk *walk, u64 address, u64 *ret_next)
{
	struct instruction instruction;
	u8 bytes[INSTRUCTION_MAX_BYTES];
	size_t size;
	int result = map_set(&walk->seen, address, 0, 1);

	*ret_next = 0;
	if (result)
		return result;
	if (walk->seen.count > INSTRUCTIONS_MAX ||
	    !read_instruction(walk, address, bytes, &size, &instruction)) {
		walk->complete = false;
		return 0;
	}
	switch (instruction.flow) {
	case FLOW_RETURN:
		return add_site(walk, RETURN_SITE_RET, &instruction, bytes, size);
	case FLOW_JUMP:
		if (!instruction.has_target)
			return 0;
		if (gives_back_first(walk, instruction.target))
			return add_site(walk, RETURN_SITE_JUMP, &instruction, bytes, size);
		return walk_later(walk, instruction.target);
	case FLOW_JUMP_CONDITIONAL:
		result = instruction.has_target ? walk_later(walk, instruction.target) : 0;
		break;
	case FLOW_JUMP_MEMORY:
		return slot_jump_follow(walk, &instruction);
	case FLOW_JUMP_REGISTER:
	case FLOW_OTHER_RETURN:
		walk->complete = false;
		return 0;
	case FLOW_STOP:
		return 0;
	case FLOW_NEXT:
	case FLOW_CALL:
		break;
	}
	*ret_next = address + instruction.size_bytes;
	return result;
}

static int walk_all(struct walk *walk)
{
	int result = 0;

	while (walk->open_count && !result) {
		u64 address = walk->open[--walk->open_count];

		while (address && !result && !map_find(&walk->seen, address, 0))
			result = walk_step(walk, address, &address);
	}
	return result;
}

static int compare_sites(const void *a, const void *b)
{
	const struct return_site *left = a, *right = b;

	return left->address < right->address ? -1 : left->address > right->address;
}

int code_exits_find(const struct elf_file *file, const struct elf_symbols *symbols, u64 address,
		    struct return_site **ret_sites, size_t *ret_count, bool *ret_complete)
{
	struct walk walk = {.file = file, .symbols = symbols, .complete = true};
	int result = decoder_create(&walk.decoder, NULL);

	if (!result)
		result = walk_later(&walk, address);
	if (!result)
		result = walk_all(&walk);
	decoder_free(walk.decoder);
	map_free(&walk.seen);
	free(walk.open);
	if (result) {
		free(walk.sites);
		return result;
	}
	if (walk.site_count)
		qsort(walk.sites, walk.site_count, sizeof(*walk.sites), compare_sites);
	*ret_sites = walk.sites;
	*ret_count = walk.site_count;
	*ret_complete = walk.complete;
	return 0;
}
