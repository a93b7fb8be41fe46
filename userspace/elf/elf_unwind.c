/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Can code of this file throw, catch, or clean up on the way of an exception? The compiler says so
 * in the unwind tables: a CIE with 'P' in its augmentation names a personality routine. Plain C has
 * none, or C's own (__attribute__((cleanup)) with -fexceptions, as in glibc), which neither throws
 * nor catches.
 */
#include "elf/elf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <string.h>

#include "base/cleanup.h"

#define C_PERSONALITY "__gcc_personality_v0"
/* Position-independent code refers to the routine through a slot with this name. */
#define C_PERSONALITY_SLOT "DW.ref." C_PERSONALITY

/* Does a symbol with this address have this name? defined: its own, else an undefined one's (a PLT
 * entry). */
static bool symbol_is(const struct elf_file *file, u32 type, u64 address, const char *name)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_section_find(file, NULL, type, &header);
	Elf_Data *data = section ? elf_section_data(file, section) : NULL;

	for (size_t i = 0; data && i < data->d_size / sizeof(Elf64_Sym); i++) {
		const char *found;
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_value != address)
			continue;
		found = elf_strptr(file->elf, header.sh_link, symbol.st_name);
		if (found && strncmp(found, name, strlen(name)) == 0 &&
		    (!found[strlen(name)] || found[strlen(name)] == '@'))
			return true;
	}
	return false;
}

static bool address_is(const struct elf_file *file, u64 address, const char *name)
{
	return symbol_is(file, SHT_SYMTAB, address, name) ||
	       symbol_is(file, SHT_DYNSYM, address, name);
}

static bool relocation_is_c(const struct elf_file *file, const GElf_Shdr *header,
			    const GElf_Rela *relocation)
{
	Elf_Scn *section = elf_getscn(file->elf, header->sh_link);
	Elf_Data *symbols = section ? elf_section_data(file, section) : NULL;
	GElf_Shdr symbols_header;
	const char *name;
	GElf_Sym symbol;

	if (GELF_R_TYPE(relocation->r_info) == R_X86_64_RELATIVE)
		return address_is(file, (u64)relocation->r_addend, C_PERSONALITY);
	if (!symbols || !gelf_getshdr(section, &symbols_header) ||
	    !gelf_getsym(symbols, (int)GELF_R_SYM(relocation->r_info), &symbol))
		return false;
	name = elf_strptr(file->elf, symbols_header.sh_link, symbol.st_name);
	return name && strcmp(name, C_PERSONALITY) == 0;
}

/* Will the slot at this address hold the address of C's own routine once the file is loaded? */
static bool slot_is_c(const struct elf_file *file, u64 slot)
{
	Elf_Scn *section = NULL;
	u64 value;

	while ((section = elf_nextscn(file->elf, section))) {
		GElf_Shdr header;
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA ||
		    !(data = elf_section_data(file, section)))
			continue;
		for (size_t i = 0; i < data->d_size / sizeof(Elf64_Rela); i++) {
			GElf_Rela relocation;

			if (gelf_getrela(data, (int)i, &relocation) && relocation.r_offset == slot)
				return relocation_is_c(file, &header, &relocation);
		}
	}
	if (address_is(file, slot, C_PERSONALITY_SLOT))
		return true;
	return elf_file_read_address(file, slot, &value, sizeof(value)) == sizeof(value) && value &&
	       address_is(file, value, C_PERSONALITY);
}

/* Decodes the pointer to the routine; false for an encoding that compilers do not use here. */
static bool pointer_decode(u8 encoding, const u8 *bytes, size_t size, u64 position, u64 *ret_value)
{
	u64 value = 0;
	size_t width;
	bool is_signed;

	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		width = 8;
		break;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		width = 4;
		break;
	default:
		return false;
	}
	if (size < width)
		return false;
	memcpy(&value, bytes, width);
	is_signed = (encoding & 0x0f) == DW_EH_PE_sdata4;
	if (is_signed)
		value = (u64)(s64)(int32_t)value;
	switch (encoding & 0x70) {
	case DW_EH_PE_absptr:
		break;
	case DW_EH_PE_pcrel:
		value += position;
		break;
	default:
		return false;
	}
	*ret_value = value;
	return true;
}

/* Has this CIE a personality routine that is not C's? */
static bool cie_has_personality(const struct elf_file *file, const Dwarf_CIE *cie,
				const Elf_Data *data, u64 section_address)
{
	const u8 *bytes = cie->augmentation_data;
	size_t size = cie->augmentation_data_size;
	u64 pointer;

	if (!strchr(cie->augmentation, 'P'))
		return false;
	for (const char *letter = cie->augmentation + 1; bytes && *letter && *letter != 'P';
	     letter++) {
		if ((*letter == 'L' || *letter == 'R') && size) {
			bytes++;
			size--;
		}
	}
	if (cie->augmentation[0] != 'z' || !bytes || !size ||
	    !pointer_decode(bytes[0], bytes + 1, size - 1,
			    section_address + (u64)(bytes + 1 - (const u8 *)data->d_buf), &pointer))
		return true;
	if (bytes[0] & DW_EH_PE_indirect)
		return !slot_is_c(file, pointer);
	return !address_is(file, pointer, C_PERSONALITY);
}

static bool is_plain_c(const struct elf_file *file)
{
	static const char *const sonames[] = {
#define PLAIN_C_FILE(soname, why) soname,
#include "elf/plain_c_files.def"
#undef PLAIN_C_FILE
	};
	_cleanup_free_ char *soname = elf_file_soname(file);

	for (size_t i = 0; soname && i < ARRAY_SIZE(sonames); i++) {
		if (strcmp(soname, sonames[i]) == 0)
			return true;
	}
	return false;
}

bool elf_file_has_personality(struct elf_file *file)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_section_find(file, ".eh_frame", SHT_NULL, &header);
	Elf_Data *data = section ? elf_section_data(file, section) : NULL;
	GElf_Ehdr ehdr;
	Dwarf_Off offset = 0, next = 0;

	if (!data || !gelf_getehdr(file->elf, &ehdr))
		return true;
	for (;; offset = next) {
		Dwarf_CFI_Entry entry;
		int result = dwarf_next_cfi(ehdr.e_ident, data, true, offset, &next, &entry);

		if (result > 0)
			return false;
		/* Damaged, or a form that libdw does not know: in doubt it can throw. */
		if (result < 0 || next <= offset)
			return true;
		if (dwarf_cfi_cie_p(&entry) &&
		    cie_has_personality(file, &entry.cie, data, header.sh_addr))
			return !is_plain_c(file);
	}
}
