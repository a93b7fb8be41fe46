/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What pointers of a file are bound to when it is loaded: the jumps of its PLT go by them. */
#include "elf/elf.h"

#include <errno.h>
#include <string.h>

#include "base/types.h"

#define READ_ENTRIES 512

static bool find_in(const struct elf_file *file, s64 table_tag, s64 size_tag, u64 slot,
		    Elf64_Rela *ret_entry)
{
	Elf64_Rela entries[READ_ENTRIES];
	u64 address, size, count;

	if (!elf_dynamic_find(file, table_tag, &address) ||
	    !elf_dynamic_find(file, size_tag, &size))
		return false;
	for (u64 done = 0; done < size; done += count * sizeof(entries[0])) {
		u64 want = size - done < sizeof(entries) ? size - done : sizeof(entries);

		count = elf_file_read_address(file, address + done, entries, want) /
			sizeof(entries[0]);
		if (!count)
			return false;
		for (u64 i = 0; i < count; i++)
			if (entries[i].r_offset == slot) {
				*ret_entry = entries[i];
				return true;
			}
	}
	return false;
}

static bool is_function(const Elf64_Sym *symbol)
{
	return symbol->st_shndx != SHN_UNDEF && symbol->st_value;
}

static int read_symbol(const struct elf_file *file, u64 index, struct elf_binding *ret_binding)
{
	u64 symbols, strings;
	Elf64_Sym symbol;
	size_t size;

	if (!index || !elf_dynamic_find(file, DT_SYMTAB, &symbols) ||
	    !elf_dynamic_find(file, DT_STRTAB, &strings) ||
	    elf_file_read_address(file, symbols + index * sizeof(symbol), &symbol,
				  sizeof(symbol)) != sizeof(symbol))
		return -ENOENT;
	*ret_binding = (struct elf_binding){
		.address = is_function(&symbol) ? symbol.st_value : 0,
		.resolver = is_function(&symbol) && ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC,
	};
	size = elf_file_read_address(file, strings + symbol.st_name, ret_binding->name,
				     sizeof(ret_binding->name));
	if (!memchr(ret_binding->name, 0, size))
		ret_binding->name[0] = 0;
	return 0;
}

int elf_file_binding(const struct elf_file *file, u64 slot, struct elf_binding *ret_binding)
{
	Elf64_Rela entry;

	if (!find_in(file, DT_JMPREL, DT_PLTRELSZ, slot, &entry) &&
	    !find_in(file, DT_RELA, DT_RELASZ, slot, &entry))
		return -ENOENT;
	switch (ELF64_R_TYPE(entry.r_info)) {
	case R_X86_64_RELATIVE:
	case R_X86_64_IRELATIVE:
		*ret_binding = (struct elf_binding){
			.address = (u64)entry.r_addend,
			.resolver = ELF64_R_TYPE(entry.r_info) == R_X86_64_IRELATIVE,
		};
		return 0;
	case R_X86_64_JUMP_SLOT:
	case R_X86_64_GLOB_DAT:
		return read_symbol(file, ELF64_R_SYM(entry.r_info), ret_binding);
	default:
		return -ENOENT;
	}
}
