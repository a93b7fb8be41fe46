/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * .gopclntab ("pclntab"): what the runtime of Go names its functions by. It is loaded with the program, so strip and -ldflags=-s leave it.
 * Four layouts: of Go 1.2, 1.16, 1.18 and 1.20 (which differs from that of 1.18 by its number only); from Go 1.26 on the start of the
 * code stands in the runtime's moduledata alone.
 */
#include "elf/elf_go_functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/elf.h"

/* That of a program of 150 MB takes 30. */
#define TABLE_MAX_BYTES (256ULL << 20)
/* A name is a path of packages, a type and its arguments. */
#define NAME_MAX_BYTES 8192
/* Pointers to the table, of which one may be that of the moduledata. */
#define CANDIDATES_MAX 16
#define SCAN_BYTES     65536
#define SCAN_MAX_BYTES (1ULL << 30)

/* Words of moduledata, the same from Go 1.16 on: the table, five slices of it, the slice of its functions, findfunctab, minpc, maxpc, text. */
#define MODULEDATA_NAMES_OFFSET 8
#define MODULEDATA_MINPC_OFFSET 160
#define MODULEDATA_TEXT_OFFSET	176

struct layout {
	u32 magic;
	u8 text_at, names_at, functions_at; /* in the header, bytes; 0: it has none */
	u8 entry_bytes;	   /* of an address in the table, and of what stands beside it */
	u8 functions_from; /* where the table of functions begins that has no pointer in the header */
};

static const struct layout layouts[] = {
	{.magic = 0xfffffffb, .entry_bytes = 8, .functions_from = 16},
	{.magic = 0xfffffffa, .names_at = 24, .functions_at = 56, .entry_bytes = 8},
	{.magic = 0xfffffff0, .text_at = 24, .names_at = 32, .functions_at = 64, .entry_bytes = 4},
	{.magic = 0xfffffff1, .text_at = 24, .names_at = 32, .functions_at = 64, .entry_bytes = 4},
};

struct go_table {
	const struct elf_file *file;
	const struct layout *layout;
	u64 address; /* where it is loaded */
	u8 *bytes;
	u64 size;
	u64 names, functions, count; /* places in bytes, and how many functions */
	u64 text;		     /* what the addresses of functions count from */
};

/* False: it lies outside. */
static bool word_at(const struct go_table *table, u64 place, u8 size, u64 *ret_word)
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
	struct go_table *table = data;
	u64 place = slot - table->address;

	if (slot >= table->address && place < table->size && sizeof(address) <= table->size - place)
		memcpy(table->bytes + place, &address, sizeof(address));
}

static int table_read(struct go_table *table)
{
	static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab"};
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	for (size_t i = 0; i < ARRAY_SIZE(names) && !section; i++)
		section = elf_section_find(table->file, names[i], SHT_PROGBITS, &header);
	if (!section || (header.sh_flags & SHF_COMPRESSED) || header.sh_size > TABLE_MAX_BYTES)
		return -ENOENT;
	table->address = header.sh_addr;
	table->size = header.sh_size;
	table->bytes = malloc(header.sh_size + 1);
	if (!table->bytes)
		return -ENOMEM;
	if (elf_file_read(table->file, header.sh_offset, table->bytes, table->size) !=
	    (ssize_t)table->size)
		return -ENOENT;
	table->bytes[table->size] = 0;
	elf_relocated_pointers(table->file, relocate, table);
	return 0;
}

/* Eight bytes of all: number, two zeros, the least instruction (1 on x86), the size of a pointer. */
static int header_read(struct go_table *table)
{
	const struct layout *layout = NULL;
	u64 magic;

	if (table->size < 16)
		return -ENOENT;
	word_at(table, 0, sizeof(u32), &magic);
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (layouts[i].magic == magic)
			layout = &layouts[i];
	if (!layout || memcmp(table->bytes + 4, "\0\0\1\10", 4))
		return -ENOENT;
	table->layout = layout;
	word_at(table, 8, sizeof(u64), &table->count);
	table->functions = layout->functions_from;
	if ((layout->functions_at &&
	     !word_at(table, layout->functions_at, sizeof(u64), &table->functions)) ||
	    (layout->names_at && !word_at(table, layout->names_at, sizeof(u64), &table->names)) ||
	    (layout->text_at && !word_at(table, layout->text_at, sizeof(u64), &table->text)))
		return -ENOENT;
	if (table->functions >= table->size || table->names >= table->size ||
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
	const struct go_table *table;
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

/* The one whose slice of names begins where the table says, and whose first function where the two agree. */
static int text_find(struct go_table *table)
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

/* NULL: none that is within the table. */
static const char *name_at(const struct go_table *table, u64 place)
{
	u8 entry_bytes = table->layout->entry_bytes;
	/* Those of Go 1.2 are counted from the table, as the functions are; later ones each from their own part. */
	u64 function = table->layout->functions_at ? table->functions : 0;
	u64 beside, name;
	size_t left;

	if (!word_at(table, place + entry_bytes, entry_bytes, &beside) ||
	    beside > table->size - function || /* the address of the function comes first */
	    !word_at(table, function + beside + entry_bytes, sizeof(u32), &name) ||
	    name >= table->size - table->names)
		return NULL;
	name += table->names;
	left = table->size - name;
	left = left < NAME_MAX_BYTES ? left : NAME_MAX_BYTES;
	if (!table->bytes[name] || !memchr(table->bytes + name, 0, left))
		return NULL;
	return (const char *)table->bytes + name;
}

/* Functions are there in order, and behind the last one stands where it ends. */
static int visit_functions(const struct go_table *table,
			   int (*visit)(void *data, const struct elf_symbol *symbol), void *data)
{
	u8 entry_bytes = table->layout->entry_bytes;
	int result = 0;

	for (u64 i = 0; i < table->count && result == 0; i++) {
		u64 place = table->functions + i * 2 * entry_bytes, start, end, offset;
		struct elf_symbol symbol;

		if (!word_at(table, place, entry_bytes, &start) ||
		    !word_at(table, place + 2 * entry_bytes, entry_bytes, &end))
			break;
		symbol = (struct elf_symbol){.name = name_at(table, place),
					     .address = table->text + start,
					     .size_bytes = end > start ? end - start : 0};
		if (symbol.name && !elf_file_offset(table->file, symbol.address, &offset))
			result = visit(data, &symbol);
	}
	return result;
}

int elf_go_functions_visit(const struct elf_file *file,
			   int (*visit)(void *data, const struct elf_symbol *symbol), void *data,
			   char **ret_names)
{
	struct go_table table = {.file = file};
	int result = table_read(&table);

	if (!result)
		result = header_read(&table);
	if (!result && table.layout->text_at && !table.text)
		result = text_find(&table);
	if (!result)
		result = visit_functions(&table, visit, data);
	if (result)
		free(table.bytes);
	else
		*ret_names = (char *)table.bytes;
	return result;
}
