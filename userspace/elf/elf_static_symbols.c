/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbols that a file does not offer to others, data too, by their names. */
#include "elf/elf.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Of files that claim more nothing is read. */
#define NAMES_MAX_BYTES	  (256ULL << 20)
#define SYMBOLS_MAX_BYTES (128ULL << 20)

bool elf_file_has_section(const struct elf_file *file, const char *name)
{
	GElf_Shdr header;

	return elf_section_find(file, name, SHT_NULL, &header);
}

/* With a NUL behind its end, whatever the file says. NULL: it can't be read. */
static char *read_names(const struct elf_file *file, size_t index, u64 *ret_bytes)
{
	Elf_Scn *section = elf_getscn(file->elf, index);
	GElf_Shdr header;
	char *bytes;

	if (!section || !gelf_getshdr(section, &header) || header.sh_type != SHT_STRTAB ||
	    header.sh_flags & SHF_COMPRESSED || header.sh_size > NAMES_MAX_BYTES ||
	    !(bytes = malloc(header.sh_size + 1)))
		return NULL;
	if (elf_file_read(file, header.sh_offset, bytes, header.sh_size) !=
	    (ssize_t)header.sh_size) {
		free(bytes);
		return NULL;
	}
	bytes[header.sh_size] = 0;
	*ret_bytes = header.sh_size;
	return bytes;
}

static bool is_taken(const GElf_Sym *symbol)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info);

	return (type == STT_OBJECT || type == STT_FUNC) && symbol->st_shndx != SHN_UNDEF &&
	       symbol->st_value;
}

void elf_file_static_symbols(const struct elf_file *file, const char *const names[], size_t count,
			     u64 addresses[])
{
	GElf_Shdr header;
	Elf_Scn *section = elf_section_find(file, NULL, SHT_SYMTAB, &header);
	Elf_Data *data = section && header.sh_size <= SYMBOLS_MAX_BYTES
				 ? elf_section_data(file, section)
				 : NULL;
	u64 bytes = 0;
	_cleanup_free_ char *texts = data ? read_names(file, header.sh_link, &bytes) : NULL;

	size_t left = 0;

	if (!texts)
		return;
	for (size_t n = 0; n < count; n++)
		left += !addresses[n];
	for (size_t i = 0; i < data->d_size / sizeof(Elf64_Sym) && left; i++) {
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol) || !is_taken(&symbol) ||
		    symbol.st_name >= bytes)
			continue;
		for (size_t n = 0; n < count; n++)
			if (!addresses[n] && !strcmp(texts + symbol.st_name, names[n])) {
				addresses[n] = symbol.st_value;
				left--;
			}
	}
}
