/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_cfi.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "elf/elf.h"
#include "elf/elf_cfi_bytes.h"

/* Of .eh_frame_hdr, up to the end of a pointer of any kind. */
#define HEADER_BYTES	  16
#define HEADER_VERSION	  1
#define LENGTH_IS_64_BITS 0xffffffffU
/* "eh", of gcc 2: a pointer stands between augmentation and factors. */
#define OLD_POINTER_BYTES 8

/* ---- where it is ---- */

static bool find_section(const struct elf_file *file, const char *name, u64 *ret_offset,
			 u64 *ret_size, u64 *ret_address)
{
	GElf_Shdr header;

	if (!elf_section_find(file, name, SHT_NULL, &header) || header.sh_type == SHT_NOBITS ||
	    (header.sh_flags & SHF_COMPRESSED))
		return false;
	*ret_offset = header.sh_offset;
	*ret_size = header.sh_size;
	*ret_address = header.sh_addr;
	return true;
}

/* By the program headers, of a file without a table of sections. It is followed by what else the segment has. */
static bool find_segment(const struct elf_file *file, u64 *ret_offset, u64 *ret_size,
			 u64 *ret_address)
{
	size_t count;

	if (elf_getphdrnum(file->elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		u8 bytes[HEADER_BYTES];
		struct elf_cfi header = {.bytes = bytes};
		struct cfi_bytes left = {bytes + 4, bytes + sizeof(bytes), false};
		GElf_Phdr segment;

		if (!gelf_getphdr(file->elf, (int)i, &segment) ||
		    segment.p_type != PT_GNU_EH_FRAME ||
		    elf_file_read_address(file, segment.p_vaddr, bytes, sizeof(bytes)) !=
			    sizeof(bytes) ||
		    bytes[0] != HEADER_VERSION)
			continue;
		header.address = header.data_base = segment.p_vaddr;
		*ret_address = cfi_bytes_pointer(&header, &left, bytes[1]);
		for (size_t j = 0; !left.failed && j < file->loaded_count; j++) {
			u64 inside = *ret_address - file->loaded[j].address;

			if (*ret_address < file->loaded[j].address ||
			    inside >= file->loaded[j].file_size_bytes)
				continue;
			*ret_offset = file->loaded[j].offset + inside;
			*ret_size = file->loaded[j].file_size_bytes - inside;
			return true;
		}
	}
	return false;
}

/* Of what cfi says already. */
static int read_bytes(const struct elf_file *file, u64 offset, u64 size, struct elf_cfi *cfi,
		      struct elf_cfi *ret_cfi, struct err *err)
{
	const char *name = cfi->debug ? ".debug_frame" : ".eh_frame";
	ssize_t count;

	cfi->bytes = malloc(size ? size : 1);
	if (!cfi->bytes)
		return err_errno(err, -ENOMEM, "can't read %s of %s", name, file->path);
	count = elf_file_read(file, offset, cfi->bytes, size);
	if (count < 0 || (size && !count)) {
		free(cfi->bytes);
		return err_errno(err, -EIO, "can't read %s of %s", name, file->path);
	}
	cfi->size_bytes = (u32)count;
	*ret_cfi = *cfi;
	return 0;
}

int elf_cfi_read_beginning(const struct elf_file *file, u64 max_bytes, struct elf_cfi *ret_cfi,
			   struct err *err)
{
	struct elf_cfi cfi = {0};
	u64 offset, size;

	if (!find_section(file, ".eh_frame", &offset, &size, &cfi.address)) {
		if (!find_segment(file, &offset, &size, &cfi.address))
			return err_set(err, -ENOENT, "%s has no .eh_frame", file->path);
		cfi.to_zero = true;
	}
	elf_dynamic_find(file, DT_PLTGOT, &cfi.data_base);
	return read_bytes(file, offset, size < max_bytes ? size : max_bytes, &cfi, ret_cfi, err);
}

int elf_cfi_read_debug(const struct elf_file *file, struct elf_cfi *ret_cfi, struct err *err)
{
	struct elf_cfi cfi = {.debug = true};
	u64 offset, size;

	if (!find_section(file, ".debug_frame", &offset, &size, &cfi.address))
		return err_set(err, -ENOENT, "%s has no .debug_frame", file->path);
	return read_bytes(file, offset, size < ELF_SECTION_MAX_BYTES ? size : ELF_SECTION_MAX_BYTES,
			  &cfi, ret_cfi, err);
}

int elf_cfi_read(const struct elf_file *file, struct elf_cfi *ret_cfi, struct err *err)
{
	return elf_cfi_read_beginning(file, ELF_SECTION_MAX_BYTES, ret_cfi, err);
}

void elf_cfi_free(struct elf_cfi *cfi)
{
	free(cfi->bytes);
	*cfi = (struct elf_cfi){0};
}

/* ---- pointers ---- */

static u64 pointer_value(struct cfi_bytes *bytes, u8 format)
{
	switch (format) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return cfi_bytes_number(bytes, 8);
	case DW_EH_PE_udata4:
		return cfi_bytes_number(bytes, 4);
	case DW_EH_PE_sdata4:
		return (u64)(s64)(s32)cfi_bytes_number(bytes, 4);
	case DW_EH_PE_udata2:
		return cfi_bytes_number(bytes, 2);
	case DW_EH_PE_sdata2:
		return (u64)(s64)(s16)cfi_bytes_number(bytes, 2);
	case DW_EH_PE_uleb128:
		return cfi_bytes_uleb(bytes);
	case DW_EH_PE_sleb128:
		return (u64)cfi_bytes_sleb(bytes);
	default:
		bytes->failed = true;
		return 0;
	}
}

u64 cfi_bytes_pointer(const struct elf_cfi *cfi, struct cfi_bytes *bytes, u8 encoding)
{
	u64 position = cfi->address + (u64)(bytes->at - cfi->bytes), value;

	if ((encoding & 0x70) == DW_EH_PE_aligned) {
		cfi_bytes_number(bytes, (u32)(-position & 7));
		return cfi_bytes_number(bytes, 8);
	}
	value = pointer_value(bytes, encoding & 0x0f);
	switch (encoding & 0x70) {
	case DW_EH_PE_absptr:
		return value;
	case DW_EH_PE_pcrel:
		return value + position;
	case DW_EH_PE_datarel:
		return value + cfi->data_base;
	default:
		bytes->failed = true;
		return 0;
	}
}

bool elf_cfi_pointer(const struct elf_cfi *cfi, u8 encoding, struct elf_cfi_block block,
		     u64 *ret_value)
{
	struct cfi_bytes bytes = cfi_bytes(cfi, block);

	*ret_value = cfi_bytes_pointer(cfi, &bytes, encoding);
	return !bytes.failed;
}

/* ---- entries ---- */

/* How many bytes follow behind the length; 0: it is a terminator. ret_wide: it has 64 bits. */
static u64 entry_length(struct cfi_bytes *bytes, bool *ret_wide)
{
	u64 length = cfi_bytes_number(bytes, 4);

	*ret_wide = length == LENGTH_IS_64_BITS;
	return *ret_wide ? cfi_bytes_number(bytes, 8) : length;
}

/* What an entry says of its CIE: how far back from there it is, or where in the section. A CIE says 0, or all ones. */
static void read_id(const struct elf_cfi *cfi, struct cfi_bytes *bytes, bool wide,
		    struct elf_cfi_entry *entry)
{
	u32 at = (u32)(bytes->at - cfi->bytes);
	u64 id = cfi_bytes_number(bytes, cfi->debug && wide ? 8 : 4);

	entry->is_cie = cfi->debug ? id == (wide ? UINT64_MAX : UINT32_MAX) : !id;
	entry->cie_offset = cfi->debug ? (u32)(id < UINT32_MAX ? id : UINT32_MAX) : at - (u32)id;
}

bool elf_cfi_next(const struct elf_cfi *cfi, u32 *offset, struct elf_cfi_entry *ret_entry)
{
	struct cfi_bytes bytes;
	const u8 *start, *end;
	struct elf_cfi_entry entry;
	bool wide = false;
	u64 length = 0;

	if (!cfi->size_bytes)
		return false;
	bytes = (struct cfi_bytes){cfi->bytes + *offset, cfi->bytes + cfi->size_bytes, false};
	start = bytes.at;
	/* Linkers that put files together leave the ends of some in the middle. */
	while (cfi_bytes_left(&bytes)) {
		start = bytes.at;
		length = entry_length(&bytes, &wide);
		if (length || cfi->to_zero)
			break;
	}
	if (!length && !bytes.failed)
		*offset = cfi->size_bytes;
	if (bytes.failed || length < (cfi->debug && wide ? 8 : 4) ||
	    length > (size_t)(bytes.end - bytes.at))
		return false;
	end = bytes.at + length;
	*offset = (u32)(end - cfi->bytes);
	entry.offset = (u32)(start - cfi->bytes);
	read_id(cfi, &bytes, wide, &entry);
	entry.body = (struct elf_cfi_block){(u32)(bytes.at - cfi->bytes), (u32)(end - bytes.at)};
	*ret_entry = entry;
	return true;
}

bool elf_cfi_entry_at(const struct elf_cfi *cfi, u32 offset, struct elf_cfi_entry *ret_entry)
{
	return offset < cfi->size_bytes && elf_cfi_next(cfi, &offset, ret_entry);
}

/* ---- CIE ---- */

/* The data of an augmentation "z...", letter by letter. False: one of them is not known, and what follows it neither. */
static bool augmentation_parse(const struct elf_cfi *cfi, const char *letters,
			       struct elf_cfi_block data, struct elf_cie *cie)
{
	struct cfi_bytes bytes = cfi_bytes(cfi, data);

	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			cie->encoding = (u8)cfi_bytes_u8(&bytes);
			break;
		case 'P':
			cie->personality = true;
			cie->personality_encoding = (u8)cfi_bytes_u8(&bytes);
			cie->personality_pointer = (struct elf_cfi_block){
				(u32)(bytes.at - cfi->bytes), (u32)(bytes.end - bytes.at)};
			cfi_bytes_pointer(cfi, &bytes, cie->personality_encoding);
			break;
		case 'L':
			cie->exceptions_encoding = (u8)cfi_bytes_u8(&bytes);
			cie->exceptions = cie->exceptions_encoding != DW_EH_PE_omit;
			break;
		case 'S':
			cie->signal_frame = true;
			break;
		default:
			return false;
		}
	}
	return !bytes.failed;
}

bool elf_cie_parse(const struct elf_cfi *cfi, const struct elf_cfi_entry *entry,
		   struct elf_cie *ret_cie)
{
	struct elf_cie cie = {
		.offset = entry->offset, .encoding = DW_EH_PE_absptr, .understood = true};
	struct cfi_bytes bytes = cfi_bytes(cfi, entry->body);
	u64 version = cfi_bytes_u8(&bytes), return_column;
	const char *letters = (const char *)bytes.at;
	const u8 *letters_end = memchr(bytes.at, 0, (size_t)(bytes.end - bytes.at));

	if ((version != 1 && version != 3 && version != 4) || !letters_end)
		return false;
	bytes.at = letters_end + 1;
	if (strcmp(letters, "eh") == 0)
		cfi_bytes_number(&bytes, OLD_POINTER_BYTES);
	/* Sizes of an address and of a segment. */
	if (version == 4 && (cfi_bytes_u8(&bytes) != 8 || cfi_bytes_u8(&bytes) != 0))
		return false;
	cie.code_factor = cfi_bytes_uleb(&bytes);
	cie.data_factor = cfi_bytes_sleb(&bytes);
	return_column = version == 1 ? cfi_bytes_u8(&bytes) : cfi_bytes_uleb(&bytes);
	if (return_column != ELF_CFI_RETURN_ADDRESS)
		cie.understood = false;
	if (letters[0] == 'z') {
		struct elf_cfi_block data = cfi_bytes_block(cfi, &bytes);

		cie.augmented = true;
		if (bytes.failed || !augmentation_parse(cfi, letters + 1, data, &cie))
			return false;
	} else if (letters[0] && strcmp(letters, "eh") != 0) {
		return false;
	}
	cie.instructions =
		(struct elf_cfi_block){(u32)(bytes.at - cfi->bytes), (u32)(bytes.end - bytes.at)};
	*ret_cie = cie;
	return !bytes.failed;
}

/* ---- FDE ---- */

/* It is the first of the data; relative to where it stands, but 0 is none. */
static u64 exceptions_parse(const struct elf_cfi *cfi, const struct elf_cie *cie,
			    struct elf_cfi_block data)
{
	struct cfi_bytes bytes = cfi_bytes(cfi, data), raw = bytes;
	u64 address;

	if (!cie->exceptions)
		return 0;
	address = cfi_bytes_pointer(cfi, &bytes, cie->exceptions_encoding);
	if (!cfi_bytes_pointer(cfi, &raw, cie->exceptions_encoding & 0x0f) && !raw.failed)
		return 0;
	return bytes.failed || cie->exceptions_encoding & DW_EH_PE_indirect ? ELF_EXCEPTIONS_UNKNOWN
									    : address;
}

bool elf_fde_parse(const struct elf_cfi *cfi, const struct elf_cie *cie,
		   const struct elf_cfi_entry *entry, struct elf_fde *ret_fde)
{
	struct cfi_bytes bytes = cfi_bytes(cfi, entry->body);
	u64 size;

	/* Pointers to pointers: the loader fills them in. */
	if (cie->encoding & DW_EH_PE_indirect)
		return false;
	ret_fde->start = cfi_bytes_pointer(cfi, &bytes, cie->encoding);
	size = cfi_bytes_pointer(cfi, &bytes, cie->encoding & 0x0f);
	ret_fde->exceptions = 0;
	if (cie->augmented)
		ret_fde->exceptions = exceptions_parse(cfi, cie, cfi_bytes_block(cfi, &bytes));
	if (bytes.failed || !size || size > UINT64_MAX - ret_fde->start)
		return false;
	ret_fde->end = ret_fde->start + size;
	ret_fde->instructions =
		(struct elf_cfi_block){(u32)(bytes.at - cfi->bytes), (u32)(bytes.end - bytes.at)};
	return true;
}
