/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Can code of this file throw, catch, or clean up on the way of an exception? The compiler says so
 * in the unwind tables: a CIE with 'P' in its augmentation names a personality routine. Plain C has
 * none, or C's own (__attribute__((cleanup)) with -fexceptions, as in glibc), which neither throws
 * nor catches.
 */
#include "elf/elf.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/elf_cfi.h"

#define C_PERSONALITY "__gcc_personality_v0"
/* Position-independent code refers to the routine through a slot with this name. */
#define C_PERSONALITY_SLOT  "DW.ref." C_PERSONALITY
#define BEGINNING_BYTES	    (16 << 10)
#define RELOCATIONS_AT_ONCE 1024

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

/* By pieces that stay in the processor's cache: cuBLAS has megabytes of them. */
static bool relocation_find(const struct elf_file *file, const GElf_Shdr *header, u64 slot,
			    GElf_Rela *ret_relocation)
{
	Elf64_Rela rows[RELOCATIONS_AT_ONCE];
	u64 count = header->sh_size / sizeof(*rows), done = 0;
	ssize_t got;

	if (header->sh_flags & SHF_COMPRESSED || header->sh_size > ELF_SECTION_MAX_BYTES)
		return false;
	for (; done < count; done += (u64)got / sizeof(*rows)) {
		u64 left = count - done;
		size_t wanted = left < RELOCATIONS_AT_ONCE ? left : RELOCATIONS_AT_ONCE;

		got = elf_file_read(file, header->sh_offset + done * sizeof(*rows), rows,
				    wanted * sizeof(*rows));
		if (got < (ssize_t)sizeof(*rows))
			return false;
		for (size_t i = 0; i < (size_t)got / sizeof(*rows); i++)
			if (rows[i].r_offset == slot) {
				*ret_relocation =
					(GElf_Rela){slot, rows[i].r_info, rows[i].r_addend};
				return true;
			}
	}
	return false;
}

/* Will the slot at this address hold the address of C's own routine once the file is loaded? */
static bool slot_is_c(const struct elf_file *file, u64 slot)
{
	Elf_Scn *section = NULL;
	u64 value;

	while ((section = elf_nextscn(file->elf, section))) {
		GElf_Shdr header;
		GElf_Rela relocation;

		if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA &&
		    relocation_find(file, &header, slot, &relocation))
			return relocation_is_c(file, &header, &relocation);
	}
	if (address_is(file, slot, C_PERSONALITY_SLOT))
		return true;
	return elf_file_read_address(file, slot, &value, sizeof(value)) == sizeof(value) && value &&
	       address_is(file, value, C_PERSONALITY);
}

/* Has this CIE a personality routine that is not C's? */
static bool cie_has_personality(const struct elf_file *file, const struct elf_cfi *cfi,
				const struct elf_cie *cie)
{
	u64 pointer;

	if (!cie->personality)
		return false;
	if (!elf_cfi_pointer(cfi, cie->personality_encoding, cie->personality_pointer, &pointer))
		return true;
	if (cie->personality_encoding & DW_EH_PE_indirect)
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

/* -EINVAL: damaged, or of a form that is not known. */
static int cies_have_personality(const struct elf_file *file, const struct elf_cfi *cfi)
{
	struct elf_cfi_entry entry;
	struct elf_cie cie;
	u32 offset = 0;

	while (elf_cfi_next(cfi, &offset, &entry)) {
		if (!entry.is_cie)
			continue;
		if (!elf_cie_parse(cfi, &entry, &cie))
			return -EINVAL;
		if (cie_has_personality(file, cfi, &cie))
			return 1;
	}
	return offset < cfi->size_bytes ? -EINVAL : 0;
}

/* Most that have one say so at the beginning of what may be megabytes, and the others are small. */
static bool beginning_has_personality(const struct elf_file *file)
{
	struct elf_cfi cfi;
	bool has;

	if (elf_cfi_read_beginning(file, BEGINNING_BYTES, &cfi, NULL))
		return false;
	has = cies_have_personality(file, &cfi) > 0;
	elf_cfi_free(&cfi);
	return has;
}

bool elf_file_has_personality(struct elf_file *file)
{
	struct elf_cfi cfi;
	int result;

	if (beginning_has_personality(file))
		return !is_plain_c(file);
	if (elf_cfi_read(file, &cfi, NULL))
		return true;
	result = cies_have_personality(file, &cfi);
	elf_cfi_free(&cfi);
	/* In doubt it can. */
	return result < 0 || (result > 0 && !is_plain_c(file));
}
