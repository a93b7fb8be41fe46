/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * .gopclntab ("pclntab"): what the runtime of Go names its functions by. It is loaded with the program, so strip and -ldflags=-s leave it.
 * Four layouts: of Go 1.2, 1.16, 1.18 and 1.20 (which differs from that of 1.18 by its number only); from Go 1.26 on the start of the
 * code stands in the runtime's moduledata alone.
 */
#include "elf/elf_go_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/elf.h"

/* That of a program of 150 MB takes 30. */
#define TABLE_MAX_BYTES (256ULL << 20)
/* Words of what is told of a function, behind its address. */
#define FUNCTION_STEPS_OFFSET 12
#define FUNCTION_FILES_OFFSET 16
#define FUNCTION_LINES_OFFSET 20
#define FUNCTION_UNIT_OFFSET  28
/* Behind the flags: which functions were inlined where is the third of the tables whose places follow. */
#define FUNCTION_TABLES_OFFSET 3
#define INLINED_TABLE	       2
/* A step of more bits is none. */
#define STEP_BITS 32
/* A name is a path of packages, a type and its arguments. */
#define NAME_MAX_BYTES 8192
/* Pointers to the table, of which one may be that of the moduledata. */
#define CANDIDATES_MAX	 16
#define SCAN_BYTES	 65536
#define HEADER_ALIGNMENT 32
#define SCAN_MAX_BYTES	 (1ULL << 30)

/* Words of moduledata, the same from Go 1.16 on: the table, five slices of it, the slice of its functions, findfunctab, minpc, maxpc, text. */
#define MODULEDATA_NAMES_OFFSET 8
#define MODULEDATA_MINPC_OFFSET 160
#define MODULEDATA_TEXT_OFFSET	176

struct elf_go_layout {
	u32 magic;
	u8 text_at, names_at, steps_at, functions_at; /* in the header, bytes; 0: it has none */
	u8 entry_bytes;	   /* of an address in the table, and of what stands beside it */
	u8 functions_from; /* where the table of functions begins that has no pointer in the header */
	u8 flags_at;	   /* in what is told of a function; 0: not there */
};

static const struct elf_go_layout layouts[] = {
	{.magic = 0xfffffffb, .entry_bytes = 8, .functions_from = 16},
	/* Before Go 1.17 no flag is set. */
	{.magic = 0xfffffffa,
	 .names_at = 24,
	 .steps_at = 48,
	 .functions_at = 56,
	 .entry_bytes = 8,
	 .flags_at = 41},
	{.magic = 0xfffffff0,
	 .text_at = 24,
	 .names_at = 32,
	 .steps_at = 56,
	 .functions_at = 64,
	 .entry_bytes = 4,
	 .flags_at = 37},
	{.magic = 0xfffffff1,
	 .text_at = 24,
	 .names_at = 32,
	 .steps_at = 56,
	 .functions_at = 64,
	 .entry_bytes = 4,
	 .flags_at = 41},
};

/* False: it lies outside. */
static bool word_at(const struct elf_go_table *table, u64 place, u8 size, u64 *ret_word)
{
	*ret_word = 0;
	if (place > table->size || size > table->size - place)
		return false;
	memcpy(ret_word, table->bytes + place, size);
	return true;
}

/* What the loader will write there. */
static void relocate(void *data, u64 slot, u64 address)
{
	struct elf_go_table *table = data;
	u64 place = slot - table->address;

	if (slot >= table->address && place < table->size && sizeof(address) <= table->size - place)
		memcpy(table->bytes + place, &address, sizeof(address));
}

/* Eight bytes of all: number, two zeros, the least instruction (1 on x86), the size of a pointer. NULL: it is none. */
static const struct elf_go_layout *layout_of(const u8 *bytes)
{
	u32 magic;

	memcpy(&magic, bytes, sizeof(magic));
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (layouts[i].magic == magic && memcmp(bytes + 4, "\0\0\1\10", 4) == 0)
			return &layouts[i];
	return NULL;
}

/* All words of the data of a file that is not moved. */
static void visit_words(const struct elf_file *file,
			void (*visit)(void *data, u64 slot, u64 address), void *data)
{
	_cleanup_free_ u64 *words = malloc(SCAN_BYTES);
	u64 left = SCAN_MAX_BYTES;

	for (size_t i = 0; i < file->loaded_count && words; i++) {
		u64 at = (file->loaded[i].address + 7) & ~7ULL;
		size_t count;

		if (elf_file_offset(file, at, &(u64){0}) == 0)
			continue;
		while (left >= SCAN_BYTES &&
		       (count = elf_file_read_address(file, at, words, SCAN_BYTES) / sizeof(u64))) {
			for (size_t j = 0; j < count; j++)
				visit(data, at + j * sizeof(u64), words[j]);
			at += count * sizeof(u64);
			left -= SCAN_BYTES;
		}
	}
}

/* A file that is linked to be loaded anywhere, by the linker of C, has it somewhere among its constants. */
static void note_header(void *data, u64 slot, u64 word)
{
	u64 *address = data;
	u8 bytes[sizeof(word)];

	memcpy(bytes, &word, sizeof(word));
	if (!*address && slot % HEADER_ALIGNMENT == 0 && layout_of(bytes))
		*address = slot;
}

static int table_find(const struct elf_file *file, u64 *ret_address, u64 *ret_size)
{
	u64 address = 0;

	if (!elf_file_is_go(file))
		return -ENOENT;
	visit_words(file, note_header, &address);
	for (size_t i = 0; i < file->loaded_count && address; i++) {
		const struct elf_segment *segment = &file->loaded[i];

		if (address < segment->address ||
		    address - segment->address >= segment->file_size_bytes)
			continue;
		*ret_address = address;
		*ret_size = segment->file_size_bytes - (address - segment->address);
		if (*ret_size > TABLE_MAX_BYTES)
			*ret_size = TABLE_MAX_BYTES;
		return 0;
	}
	return -ENOENT;
}

static int table_read(struct elf_go_table *table)
{
	static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab"};
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	for (size_t i = 0; i < ARRAY_SIZE(names) && !section; i++)
		section = elf_section_find(table->file, names[i], SHT_PROGBITS, &header);
	if (!section && table_find(table->file, &table->address, &table->size))
		return -ENOENT;
	if (section && ((header.sh_flags & SHF_COMPRESSED) || header.sh_size > TABLE_MAX_BYTES))
		return -ENOENT;
	if (section) {
		table->address = header.sh_addr;
		table->size = header.sh_size;
	}
	table->bytes = malloc(table->size + 1);
	if (!table->bytes)
		return -ENOMEM;
	if (section ? elf_file_read(table->file, header.sh_offset, table->bytes, table->size) !=
			      (ssize_t)table->size
		    : elf_file_read_address(table->file, table->address, table->bytes,
					    table->size) != table->size)
		return -ENOENT;
	table->bytes[table->size] = 0;
	elf_relocated_pointers(table->file, relocate, table);
	return 0;
}

static int header_read(struct elf_go_table *table)
{
	const struct elf_go_layout *layout = table->size < 16 ? NULL : layout_of(table->bytes);

	if (!layout)
		return -ENOENT;
	table->layout = layout;
	word_at(table, 8, sizeof(u64), &table->count);
	table->functions = layout->functions_from;
	if ((layout->functions_at &&
	     !word_at(table, layout->functions_at, sizeof(u64), &table->functions)) ||
	    (layout->names_at && !word_at(table, layout->names_at, sizeof(u64), &table->names)) ||
	    (layout->steps_at && !word_at(table, layout->steps_at, sizeof(u64), &table->steps)) ||
	    (layout->text_at && !word_at(table, layout->text_at, sizeof(u64), &table->text)))
		return -ENOENT;
	if (table->functions >= table->size || table->names >= table->size ||
	    table->steps >= table->size ||
	    table->count > (table->size - table->functions) / (2 * layout->entry_bytes))
		return -ENOENT;
	return 0;
}

/* ---- the start of the code, from moduledata ---- */

struct candidate {
	u64 slot; /* that points to the table */
	u64 names, minpc, text;
};

struct candidates {
	const struct elf_go_table *table;
	struct candidate items[CANDIDATES_MAX];
	size_t count;
};

static void note_candidate(void *data, u64 slot, u64 address)
{
	struct candidates *candidates = data;

	if (address == candidates->table->address && candidates->count < CANDIDATES_MAX)
		candidates->items[candidates->count++].slot = slot;
}

static void fill_candidate(void *data, u64 slot, u64 address)
{
	struct candidates *candidates = data;

	for (size_t i = 0; i < candidates->count; i++) {
		struct candidate *item = &candidates->items[i];

		if (slot == item->slot + MODULEDATA_NAMES_OFFSET)
			item->names = address;
		else if (slot == item->slot + MODULEDATA_MINPC_OFFSET)
			item->minpc = address;
		else if (slot == item->slot + MODULEDATA_TEXT_OFFSET)
			item->text = address;
	}
}

/* The one whose slice of names begins where the table says, and whose first function where the two agree. */
static int text_find(struct elf_go_table *table)
{
	void (*visit_all)(const struct elf_file *file,
			  void (*visit)(void *data, u64 slot, u64 address), void *data) =
		elf_file_is_movable(table->file) ? elf_relocated_pointers : visit_words;
	struct candidates candidates = {.table = table};
	u64 first;

	if (!word_at(table, table->functions, sizeof(u32), &first))
		return -ENOENT;
	visit_all(table->file, note_candidate, &candidates);
	if (candidates.count)
		visit_all(table->file, fill_candidate, &candidates);
	for (size_t i = 0; i < candidates.count; i++) {
		const struct candidate *item = &candidates.items[i];

		if (item->names == table->address + table->names && item->text &&
		    item->minpc == item->text + first) {
			table->text = item->text;
			return 0;
		}
	}
	return -ENOENT;
}

/* ---- functions ---- */

/* Functions are there in order, and behind the last one stands where it ends. */
bool elf_go_table_extent(const struct elf_go_table *table, u64 index, struct elf_extent *ret_extent)
{
	u64 place, start, end;
	u8 entry_bytes;

	if (index >= table->count)
		return false;
	entry_bytes = table->layout->entry_bytes;
	place = table->functions + index * 2 * entry_bytes;
	if (!word_at(table, place, entry_bytes, &start) ||
	    !word_at(table, place + 2 * entry_bytes, entry_bytes, &end))
		return false;
	*ret_extent = (struct elf_extent){table->text + start, end > start ? end - start : 0};
	return true;
}

/* Where what is told of it stands. */
static bool function_at(const struct elf_go_table *table, u64 index, u64 *ret_place)
{
	u64 functions, beside;
	u8 entry_bytes;

	if (index >= table->count)
		return false;
	entry_bytes = table->layout->entry_bytes;
	/* Those of Go 1.2 are counted from the table, as the functions are; later ones each from their own part. */
	functions = table->layout->functions_at ? table->functions : 0;
	if (!word_at(table, table->functions + (index * 2 + 1) * entry_bytes, entry_bytes,
		     &beside) ||
	    beside > table->size - functions)
		return false;
	*ret_place = functions + beside;
	return true;
}

const char *elf_go_table_name(const struct elf_go_table *table, u64 index)
{
	u64 place, name;
	size_t left;

	/* The address of the function comes first. */
	if (!function_at(table, index, &place) ||
	    !word_at(table, place + table->layout->entry_bytes, sizeof(u32), &name) ||
	    name >= table->size - table->names)
		return NULL;
	name += table->names;
	left = table->size - name;
	left = left < NAME_MAX_BYTES ? left : NAME_MAX_BYTES;
	if (!table->bytes[name] || !memchr(table->bytes + name, 0, left))
		return NULL;
	return (const char *)table->bytes + name;
}

u8 elf_go_table_flags(const struct elf_go_table *table, u64 index)
{
	u64 place, flags;

	if (!table->layout->flags_at || !function_at(table, index, &place) ||
	    !word_at(table, place + table->layout->flags_at, sizeof(u8), &flags))
		return 0;
	return (u8)flags;
}

/* ---- steps of the stack pointer ---- */

/* at: in what is told of the function, where the place of its steps stands. */
static bool steps_begin(const struct elf_go_table *table, u64 index, u64 at,
			struct elf_go_steps *ret_steps)
{
	struct elf_extent extent;
	u64 place, steps;

	if (!elf_go_table_extent(table, index, &extent) || !function_at(table, index, &place) ||
	    !word_at(table, place + at, sizeof(u32), &steps) || !steps ||
	    steps >= table->size - table->steps)
		return false;
	*ret_steps = (struct elf_go_steps){.table = table,
					   .place = table->steps + steps,
					   .end = extent.address,
					   .limit = extent.address + extent.size_bytes,
					   .depth_bytes = -1,
					   .first = true};
	return true;
}

bool elf_go_steps_begin(const struct elf_go_table *table, u64 index, struct elf_go_steps *ret_steps)
{
	return steps_begin(table, index, table->layout->entry_bytes + FUNCTION_STEPS_OFFSET,
			   ret_steps);
}

/* Seven bits a byte, the lowest first. */
static bool number_next(struct elf_go_steps *steps, u32 *ret_number)
{
	const struct elf_go_table *table = steps->table;
	u64 number = 0;

	for (u32 shift = 0; shift < STEP_BITS; shift += 7) {
		u8 byte;

		if (steps->place >= table->size)
			return false;
		byte = table->bytes[steps->place++];
		number |= (u64)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret_number = (u32)number;
			return true;
		}
	}
	return false;
}

bool elf_go_steps_next(struct elf_go_steps *steps)
{
	u32 change, size;

	if (steps->end >= steps->limit || !number_next(steps, &change) ||
	    (!change && !steps->first) || !number_next(steps, &size) || !size)
		return false;
	/* The lowest bit is the sign. */
	steps->depth_bytes =
		(s32)((u32)steps->depth_bytes + (change & 1 ? ~(change >> 1) : change >> 1));
	steps->start = steps->end;
	steps->end = size < steps->limit - steps->end ? steps->end + size : steps->limit;
	steps->first = false;
	return true;
}

/* ---- lines ---- */

u64 elf_go_table_find(const struct elf_go_table *table, u64 address)
{
	u64 low = 0, high = table->count;
	struct elf_extent extent;

	while (high - low > 1) {
		u64 middle = low + (high - low) / 2;

		if (!elf_go_table_extent(table, middle, &extent) || extent.address > address)
			high = middle;
		else
			low = middle;
	}
	return low;
}

/* A number that is told of stretches of code as the depth of the stack is; -1: it is not. */
static s32 number_at(const struct elf_go_table *table, u64 index, u64 at, u64 address)
{
	struct elf_go_steps steps;

	if (!steps_begin(table, index, at, &steps))
		return -1;
	while (elf_go_steps_next(&steps))
		if (address >= steps.start && address < steps.end)
			return steps.depth_bytes;
	return -1;
}

static bool is_inlined(const struct elf_go_table *table, u64 index, u64 place, u64 address)
{
	u64 behind_flags = table->layout->flags_at + FUNCTION_TABLES_OFFSET, tables;

	/* How many there are stands before the number of the unit. */
	return word_at(table,
		       place + table->layout->entry_bytes + FUNCTION_UNIT_OFFSET - sizeof(u32),
		       sizeof(u32), &tables) &&
	       tables > INLINED_TABLE &&
	       number_at(table, index, behind_flags + INLINED_TABLE * sizeof(u32), address) >= 0;
}

/* By its number among those of its unit. */
static const char *file_of(const struct elf_go_table *table, u64 place, u32 number)
{
	u64 unit, units, files, file;

	if (!word_at(table, place + table->layout->entry_bytes + FUNCTION_UNIT_OFFSET, sizeof(u32),
		     &unit) ||
	    !word_at(table, table->layout->names_at + sizeof(u64), sizeof(u64), &units) ||
	    !word_at(table, table->layout->names_at + 2 * sizeof(u64), sizeof(u64), &files) ||
	    units > table->size || files > table->size ||
	    !word_at(table, units + (unit + number) * sizeof(u32), sizeof(u32), &file) ||
	    file >= table->size - files || !table->bytes[files + file])
		return NULL;
	/* A 0 stands behind the table. */
	return (const char *)table->bytes + files + file;
}

bool elf_go_table_line(const struct elf_go_table *table, u64 address, struct elf_go_line *ret_line)
{
	u64 index = elf_go_table_find(table, address), place;
	u8 entry_bytes = table->layout->entry_bytes;
	s32 file, line;

	if (!table->layout->names_at || !function_at(table, index, &place) ||
	    is_inlined(table, index, place, address))
		return false;
	file = number_at(table, index, entry_bytes + FUNCTION_FILES_OFFSET, address);
	line = number_at(table, index, entry_bytes + FUNCTION_LINES_OFFSET, address);
	if (file < 0 || line <= 0)
		return false;
	*ret_line = (struct elf_go_line){file_of(table, place, (u32)file), (u32)line};
	return ret_line->file;
}

/* ---- the whole ---- */

int elf_go_table_read(const struct elf_file *file, struct elf_go_table *ret_table)
{
	struct elf_go_table table = {.file = file};
	int result = table_read(&table);

	if (!result)
		result = header_read(&table);
	if (!result && table.layout->text_at && !table.text)
		result = text_find(&table);
	if (result)
		free(table.bytes);
	else
		*ret_table = table;
	return result;
}
