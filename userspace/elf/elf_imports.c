/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which functions of others a file uses. */
#include "elf/elf.h"

#include <string.h>

#include "base/types.h"

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* In a symbol table: an undefined symbol, or (defined) one that was linked in. */
static bool table_has(const struct elf_file *file, u32 type, bool defined, const char *const *names,
		      size_t name_count)
{
	Elf_Data *data, *strings;
	Elf_Scn *section;
	GElf_Shdr header;
	size_t count;

	section = elf_section_find(file, NULL, type, &header);
	data = section ? elf_section_data(file, section) : NULL;
	section = data ? elf_getscn(file->elf, header.sh_link) : NULL;
	strings = section ? elf_section_data(file, section) : NULL;
	if (!strings || !strings->d_size || ((char *)strings->d_buf)[strings->d_size - 1])
		return false;
	count = data->d_size / sizeof(Elf64_Sym);
	for (size_t i = 0; i < count; i++) {
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_name >= strings->d_size ||
		    (symbol.st_shndx != SHN_UNDEF) != defined)
			continue;
		if (is_one_of((char *)strings->d_buf + symbol.st_name, names, name_count))
			return true;
	}
	return false;
}

bool elf_file_uses(struct elf_file *file, const char *const *names, size_t count)
{
	return table_has(file, SHT_DYNSYM, false, names, count) ||
	       (elf_file_is_static(file) && table_has(file, SHT_SYMTAB, true, names, count));
}
