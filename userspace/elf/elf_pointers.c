/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/types.h"

#define READ_ENTRIES 512

size_t elf_file_segments(const struct elf_file *file, bool executable,
			 const struct elf_segment **ret_segments)
{
	*ret_segments = executable ? file->executable : file->loaded;
	return executable ? file->executable_count : file->loaded_count;
}

static bool is_loaded_code(const struct elf_file *file, const GElf_Shdr *header)
{
	for (size_t i = 0; i < file->executable_count; i++) {
		const struct elf_segment *segment = &file->executable[i];
		u64 inside = header->sh_offset - segment->offset;

		if (header->sh_offset >= segment->offset && inside < segment->file_size_bytes &&
		    header->sh_size <= segment->file_size_bytes - inside &&
		    header->sh_addr == segment->address + inside)
			return true;
	}
	return false;
}

ssize_t elf_file_code(const struct elf_file *file, struct elf_segment **ret_pieces)
{
	struct elf_segment *pieces = NULL;
	size_t count = 0, capacity = 0;
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(file->elf, section))) {
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS ||
		    !(header.sh_flags & SHF_EXECINSTR) || !is_loaded_code(file, &header))
			continue;
		if (array_reserve(&pieces, &capacity, count + 1))
			goto no_memory;
		pieces[count++] =
			(struct elf_segment){header.sh_addr, header.sh_offset, header.sh_size};
	}
	if (!count) {
		if (array_reserve(&pieces, &capacity, file->executable_count + 1))
			goto no_memory;
		count = file->executable_count;
		memcpy(pieces, file->executable, count * sizeof(*pieces));
	}
	*ret_pieces = pieces;
	return (ssize_t)count;
no_memory:
	free(pieces);
	return -ENOMEM;
}

bool elf_file_is_movable(const struct elf_file *file)
{
	GElf_Ehdr header;

	return gelf_getehdr(file->elf, &header) && header.e_type == ET_DYN;
}

struct visitor {
	void (*visit)(void *data, u64 slot, u64 address);
	void *data;
};

/* What is left of a table of the dynamic section. */
struct table {
	const struct elf_file *file;
	u64 address, size;
};

/* Empty where the file has none. */
static struct table table_find(const struct elf_file *file, s64 address_tag, s64 size_tag)
{
	struct table table = {.file = file};

	if (!elf_dynamic_find(file, address_tag, &table.address) ||
	    !elf_dynamic_find(file, size_tag, &table.size))
		table.size = 0;
	return table;
}

/* The next READ_ENTRIES at most. Returns how many they are; 0: that was all that can be read. */
static size_t table_read(struct table *table, void *ret_entries, size_t entry_bytes)
{
	u64 want = READ_ENTRIES * entry_bytes;
	size_t count;

	want = table->size < want ? table->size : want;
	count = elf_file_read_address(table->file, table->address, ret_entries, want) / entry_bytes;
	table->address += count * entry_bytes;
	table->size -= count * entry_bytes;
	return count;
}

static void visit_rela(const struct elf_file *file, s64 address_tag, s64 size_tag,
		       const struct visitor *visitor)
{
	struct table table = table_find(file, address_tag, size_tag);
	Elf64_Rela entries[READ_ENTRIES];
	size_t count;

	while ((count = table_read(&table, entries, sizeof(entries[0]))))
		for (size_t i = 0; i < count; i++) {
			u64 type = ELF64_R_TYPE(entries[i].r_info);

			if (type == R_X86_64_RELATIVE || type == R_X86_64_IRELATIVE)
				visitor->visit(visitor->data, entries[i].r_offset,
					       (u64)entries[i].r_addend);
		}
}

static void visit_slot(const struct elf_file *file, u64 slot, const struct visitor *visitor)
{
	u64 pointer;

	if (elf_file_read_address(file, slot, &pointer, sizeof(pointer)) == sizeof(pointer))
		visitor->visit(visitor->data, slot, pointer);
}

/* DT_RELR: an even entry is the address of a slot; an odd one a bit for each of the 63 slots that
 * follow. */
static void visit_relr(const struct elf_file *file, const struct visitor *visitor)
{
	const u64 bits = 63;
	struct table table = table_find(file, DT_RELR, DT_RELRSZ);
	u64 entries[READ_ENTRIES], slot = 0;
	size_t count;

	while ((count = table_read(&table, entries, sizeof(entries[0]))))
		for (size_t i = 0; i < count; i++) {
			if (!(entries[i] & 1)) {
				visit_slot(file, entries[i], visitor);
				slot = entries[i] + sizeof(u64);
				continue;
			}
			for (u64 bit = 0; bit < bits; bit++) {
				if (entries[i] >> (bit + 1) & 1)
					visit_slot(file, slot + bit * sizeof(u64), visitor);
			}
			slot += bits * sizeof(u64);
		}
}

void elf_relocated_pointers(const struct elf_file *file,
			    void (*visit)(void *data, u64 slot, u64 address), void *data)
{
	const struct visitor visitor = {visit, data};

	visit_rela(file, DT_RELA, DT_RELASZ, &visitor);
	visit_rela(file, DT_JMPREL, DT_PLTRELSZ, &visitor);
	visit_relr(file, &visitor);
}

struct pointed_to {
	void (*visit)(void *data, u64 address);
	void *data;
};

static void visit_pointed_to(void *data, u64 slot, u64 address)
{
	const struct pointed_to *pointed_to = data;

	pointed_to->visit(pointed_to->data, address);
}

void elf_file_pointers(const struct elf_file *file, void (*visit)(void *data, u64 address),
		       void *data)
{
	struct pointed_to pointed_to = {visit, data};

	elf_relocated_pointers(file, visit_pointed_to, &pointed_to);
}
