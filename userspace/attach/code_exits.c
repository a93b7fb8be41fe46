#include "attach/code_exits.h"

#include <errno.h>
#include <stdlib.h>

#include "attach/instruction.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/map.h"

#define INSTRUCTIONS_MAX 20000
#define SITES_MAX	 64

struct walk {
	const struct elf_file *file;
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

static int add_site(struct walk *walk, const struct instruction *instruction, const u8 *bytes,
		    size_t size)
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
		.kind = RETURN_SITE_RET,
		.popped_bytes = instruction->popped_bytes,
		.instruction_bytes = instruction->size_bytes,
	};
	return 0;
}

/* One instruction; *ret_next: where it goes on behind it, 0: nowhere. */
static int walk_step(struct walk *walk, u64 address, u64 *ret_next)
{
	struct instruction instruction;
	u8 bytes[INSTRUCTION_MAX_BYTES];
	u64 offset;
	size_t size;
	int result = map_set(&walk->seen, address, 0, 1);

	*ret_next = 0;
	if (result)
		return result;
	size = elf_file_offset(walk->file, address, &offset)
		       ? 0
		       : elf_file_read_address(walk->file, address, bytes, sizeof(bytes));
	if (!size || walk->seen.count > INSTRUCTIONS_MAX ||
	    !decoder_read(walk->decoder, bytes, size, address, &instruction)) {
		walk->complete = false;
		return 0;
	}
	switch (instruction.flow) {
	case FLOW_RETURN:
		return add_site(walk, &instruction, bytes, size);
	case FLOW_JUMP:
		return instruction.has_target ? walk_later(walk, instruction.target) : 0;
	case FLOW_JUMP_CONDITIONAL:
		result = instruction.has_target ? walk_later(walk, instruction.target) : 0;
		break;
	case FLOW_JUMP_REGISTER:
	case FLOW_JUMP_MEMORY:
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

int code_exits_find(const struct elf_file *file, u64 address, struct return_site **ret_sites,
		    size_t *ret_count, bool *ret_complete)
{
	struct walk walk = {.file = file, .complete = true};
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
