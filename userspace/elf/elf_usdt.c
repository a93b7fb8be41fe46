/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_usdt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "elf/elf.h"

#define OWNER	  "stapsdt"
#define NOTE_TYPE 3
/* libjvm.so, the largest known, has some hundreds. */
#define NOTES_MAX 100000

struct words {
	u64 address, base, semaphore;
};

/* Where .stapsdt.base lies now: prelink may have moved the file since the notes were written. 0: it has none. */
static u64 base_address(const struct elf_file *file)
{
	GElf_Shdr header;

	return elf_section_find(file, ".stapsdt.base", SHT_NULL, &header) ? header.sh_addr : 0;
}

static bool data_offset(const struct elf_file *file, u64 address, u64 *ret_offset)
{
	for (size_t i = 0; i < file->loaded_count; i++) {
		const struct elf_segment *segment = &file->loaded[i];

		if (address < segment->address ||
		    address - segment->address >= segment->file_size_bytes)
			continue;
		*ret_offset = segment->offset + (address - segment->address);
		return true;
	}
	return false;
}

/* The string at *at, which then is behind it; NULL: it does not end. */
static const char *take_string(const char **at, const char *end)
{
	const char *string = *at, *zero = memchr(string, 0, (size_t)(end - string));

	if (!zero)
		return NULL;
	*at = zero + 1;
	return string;
}

static bool note_read(const struct elf_file *file, u64 base, const char *content, size_t size,
		      struct elf_usdt_note *ret_note)
{
	const char *at = content + sizeof(struct words), *end = content + size;
	struct words words;
	u64 shift;

	if (size < sizeof(words))
		return false;
	memcpy(&words, content, sizeof(words));
	shift = base && words.base ? base - words.base : 0;
	*ret_note = (struct elf_usdt_note){.address = words.address + shift};
	ret_note->provider = take_string(&at, end);
	ret_note->name = ret_note->provider ? take_string(&at, end) : NULL;
	ret_note->arguments = ret_note->name ? take_string(&at, end) : NULL;
	if (!ret_note->arguments || !*ret_note->provider || !*ret_note->name ||
	    elf_file_offset(file, ret_note->address, &ret_note->file_offset))
		return false;
	return !words.semaphore ||
	       data_offset(file, words.semaphore + shift, &ret_note->semaphore_file_offset);
}

int elf_usdt_visit(const struct elf_file *file,
		   int (*visit)(void *data, const struct elf_usdt_note *note), void *data,
		   size_t *ret_damaged)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_section_find(file, ".note.stapsdt", SHT_NOTE, &header);
	Elf_Data *notes = section ? elf_section_data(file, section) : NULL;
	size_t offset = 0, next, name_offset, content_offset, damaged = 0;
	u64 base = base_address(file);
	int result = 0;
	GElf_Nhdr raw;

	for (size_t count = 0; notes && count < NOTES_MAX && !result; count++) {
		struct elf_usdt_note note;

		next = gelf_getnote(notes, offset, &raw, &name_offset, &content_offset);
		if (next <= offset)
			break;
		offset = next;
		if (raw.n_type != NOTE_TYPE || raw.n_namesz != sizeof(OWNER) ||
		    memcmp((char *)notes->d_buf + name_offset, OWNER, sizeof(OWNER)) != 0)
			continue;
		if (note_read(file, base, (char *)notes->d_buf + content_offset, raw.n_descsz,
			      &note))
			result = visit(data, &note);
		else
			damaged++;
	}
	if (ret_damaged)
		*ret_damaged = damaged;
	return result;
}

static bool is_variable(const GElf_Sym *symbol)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS &&
	       (type == STT_OBJECT || type == STT_NOTYPE);
}

/* A file may have several variables of one name (static ones), and nothing says which of them is meant. The symbols for the
 * linker alone (.dynsym) leave out the static ones, so they would name another variable of that name. */
int elf_variables_load(const struct elf_file *file, struct elf_variables *variables)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_section_find(file, NULL, SHT_SYMTAB, &header);
	Elf_Data *symbols = section ? elf_section_data(file, section) : NULL;
	GElf_Sym symbol;

	for (int i = 0; symbols && gelf_getsym(symbols, i, &symbol); i++) {
		const char *name = elf_strptr(file->elf, header.sh_link, symbol.st_name);
		s64 number;

		if (!name || !*name || !is_variable(&symbol))
			continue;
		number = string_table_add(&variables->names, name, strlen(name));
		if (number < 0 || array_reserve(&variables->addresses, &variables->capacity,
						variables->names.count))
			return -ENOMEM;
		if ((size_t)number == variables->count)
			variables->addresses[variables->count++] = symbol.st_value;
		else if (variables->addresses[number] != symbol.st_value)
			variables->addresses[number] = ELF_VARIABLE_AMBIGUOUS;
	}
	return 0;
}

int elf_variables_find(const struct elf_variables *variables, const char *name, size_t name_length,
		       u64 *ret_address)
{
	s64 number = string_table_find(&variables->names, name, name_length);

	if (number < 0 || (size_t)number >= variables->count)
		return -ENOENT;
	if (variables->addresses[number] == ELF_VARIABLE_AMBIGUOUS)
		return -ENOTUNIQ;
	*ret_address = variables->addresses[number];
	return 0;
}

void elf_variables_free(struct elf_variables *variables)
{
	string_table_free(&variables->names);
	free(variables->addresses);
	*variables = (struct elf_variables){0};
}
