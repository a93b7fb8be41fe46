/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

#define DYNAMIC_ENTRIES_MAX  4096
#define DYNAMIC_READ_ENTRIES 64
#define SEGMENTS_MAX	     4096
#define SONAME_MAX_BYTES     1024

Elf_Scn *elf_section_find(const struct elf_file *file, const char *name, u32 type,
			  GElf_Shdr *ret_header)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(file->elf, &names))
		return NULL;
	while ((section = elf_nextscn(file->elf, section))) {
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header))
			continue;
		if (type != SHT_NULL && header.sh_type != type)
			continue;
		if (name) {
			const char *found = elf_strptr(file->elf, names, header.sh_name);

			if (!found || strcmp(found, name) != 0)
				continue;
		}
		if (header.sh_type != SHT_NOBITS &&
		    (header.sh_offset > file->size_bytes ||
		     header.sh_size > file->size_bytes - header.sh_offset))
			continue;
		*ret_header = header;
		return section;
	}
	return NULL;
}

Elf_Data *elf_section_data(const struct elf_file *file, Elf_Scn *section)
{
	GElf_Shdr header;
	Elf_Data *data;

	if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS ||
	    (header.sh_flags & SHF_COMPRESSED) || header.sh_size > ELF_SECTION_MAX_BYTES ||
	    header.sh_offset > file->size_bytes ||
	    header.sh_size > file->size_bytes - header.sh_offset)
		return NULL;
	data = elf_getdata(section, NULL);
	return data && data->d_buf && data->d_size ? data : NULL;
}

static size_t read_at(int fd, u64 offset, void *ret_bytes, size_t size)
{
	ssize_t count = offset > INT64_MAX - size ? 0 : file_read_at(fd, ret_bytes, size, offset);

	return count < 0 ? 0 : (size_t)count;
}

ssize_t elf_file_read(const struct elf_file *file, u64 offset, void *ret_bytes, size_t size)
{
	return (ssize_t)read_at(file->fd, offset, ret_bytes, size);
}

static const struct elf_segment *segment_find(const struct elf_segment *segments, size_t count,
					      u64 address)
{
	for (size_t i = 0; i < count; i++) {
		if (address >= segments[i].address &&
		    address - segments[i].address < segments[i].file_size_bytes)
			return &segments[i];
	}
	return NULL;
}

int elf_file_offset(const struct elf_file *file, u64 address, u64 *ret_offset)
{
	const struct elf_segment *segment =
		segment_find(file->executable, file->executable_count, address);

	if (!segment)
		return -ENOENT;
	*ret_offset = segment->offset + (address - segment->address);
	return 0;
}

int elf_file_address(const struct elf_file *file, u64 offset, u64 *ret_address)
{
	for (size_t i = 0; i < file->executable_count; i++) {
		const struct elf_segment *segment = &file->executable[i];

		if (offset >= segment->offset &&
		    offset - segment->offset < segment->file_size_bytes) {
			*ret_address = segment->address + (offset - segment->offset);
			return 0;
		}
	}
	return -ENOENT;
}

bool elf_file_holds_address(const struct elf_file *file, u64 address)
{
	return segment_find(file->loaded, file->loaded_count, address);
}

size_t elf_file_read_address(const struct elf_file *file, u64 address, void *ret_bytes, size_t size)
{
	const struct elf_segment *segment = segment_find(file->loaded, file->loaded_count, address);
	u64 inside;

	if (!segment)
		return 0;
	inside = address - segment->address;
	if (size > segment->file_size_bytes - inside)
		size = segment->file_size_bytes - inside;
	return read_at(file->fd, segment->offset + inside, ret_bytes, size);
}

static int segments_load(struct elf_file *file)
{
	size_t count;

	if (elf_getphdrnum(file->elf, &count))
		return -ENOEXEC;
	if (count > SEGMENTS_MAX)
		count = SEGMENTS_MAX;
	file->executable = calloc(count + 1, sizeof(*file->executable));
	file->loaded = calloc(count + 1, sizeof(*file->loaded));
	if (!file->executable || !file->loaded)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct elf_segment segment;
		GElf_Phdr header;

		if (!gelf_getphdr(file->elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    header.p_offset > file->size_bytes ||
		    header.p_filesz > file->size_bytes - header.p_offset)
			continue;
		segment = (struct elf_segment){header.p_vaddr, header.p_offset, header.p_filesz};
		file->loaded[file->loaded_count++] = segment;
		if (header.p_flags & PF_X)
			file->executable[file->executable_count++] = segment;
	}
	return 0;
}

static int check_kind(const struct elf_file *file, struct err *err)
{
	GElf_Ehdr header;

	if (elf_kind(file->elf) != ELF_K_ELF || !gelf_getehdr(file->elf, &header))
		return err_set(err, -ENOEXEC, "%s is not an ELF file", file->path);
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    header.e_machine != EM_X86_64)
		return err_set(err, -ENOEXEC, "%s is not a 64-bit x86-64 ELF file", file->path);
	return 0;
}

int elf_file_open(int fd, const char *path, struct elf_file **ret_file, struct err *err)
{
	struct elf_file *file;
	struct stat status;
	int result;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return err_set(err, -ENOEXEC, "libelf is too old: %s", elf_errmsg(-1));
	if (fstat(fd, &status) < 0)
		return err_errno(err, -errno, "can't read %s", path);
	if (!S_ISREG(status.st_mode))
		return err_set(err, -ENOEXEC, "%s is not a file", path);
	file = calloc(1, sizeof(*file));
	if (!file || !(file->path = strdup(path))) {
		elf_file_free(file);
		return err_errno(err, -ENOMEM, "can't read %s", path);
	}
	file->fd = fd;
	file->debug_fd = -1;
	file->size_bytes = (u64)status.st_size;
	file->elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!file->elf)
		result = err_set(err, -ENOEXEC, "can't read %s: %s", path, elf_errmsg(-1));
	else if (!(result = check_kind(file, err)) && (result = segments_load(file)))
		err_errno(err, result, "can't read the program headers of %s", path);
	if (result) {
		elf_file_free(file);
		return result;
	}
	*ret_file = file;
	return 0;
}

struct elf_file *elf_file_free(struct elf_file *file)
{
	if (!file)
		return NULL;
	if (file->elf)
		elf_end(file->elf);
	free(file->executable);
	free(file->loaded);
	free(file->path);
	free(file);
	return NULL;
}

/* ---- notes ---- */

/* Content of the first note of this owner and type in data; 0: none. */
static size_t note_find(Elf_Data *data, const char *owner, u32 type, u8 *ret_bytes, size_t size)
{
	size_t offset = 0, next, name_offset, content_offset;
	size_t owner_size = strlen(owner) + 1;
	GElf_Nhdr note;

	while ((next = gelf_getnote(data, offset, &note, &name_offset, &content_offset)) > offset) {
		if (note.n_type == type && note.n_namesz == owner_size &&
		    memcmp((char *)data->d_buf + name_offset, owner, owner_size) == 0) {
			size_t length = note.n_descsz < size ? note.n_descsz : size;

			memcpy(ret_bytes, (char *)data->d_buf + content_offset, length);
			return length;
		}
		offset = next;
	}
	return 0;
}

/* Looks in the sections first: in a debug file the program headers of notes point nowhere. */
static size_t file_note_find(const struct elf_file *file, const char *owner, u32 type,
			     u8 *ret_bytes, size_t size)
{
	Elf_Scn *section = NULL;
	size_t length, count;

	while ((section = elf_nextscn(file->elf, section))) {
		GElf_Shdr header;
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_NOTE)
			continue;
		data = elf_section_data(file, section);
		if (data && (length = note_find(data, owner, type, ret_bytes, size)))
			return length;
	}
	if (elf_getphdrnum(file->elf, &count))
		return 0;
	for (size_t i = 0; i < count && i < SEGMENTS_MAX; i++) {
		GElf_Phdr header;
		Elf_Data *data;

		if (!gelf_getphdr(file->elf, (int)i, &header) || header.p_type != PT_NOTE ||
		    header.p_offset > file->size_bytes ||
		    header.p_filesz > file->size_bytes - header.p_offset ||
		    header.p_filesz > ELF_SECTION_MAX_BYTES)
			continue;
		data = elf_getdata_rawchunk(file->elf, (s64)header.p_offset, header.p_filesz,
					    header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		if (data && data->d_buf && (length = note_find(data, owner, type, ret_bytes, size)))
			return length;
	}
	return 0;
}

size_t elf_file_build_id(const struct elf_file *file, u8 ret_id[ELF_BUILD_ID_MAX_BYTES])
{
	return file_note_find(file, ELF_NOTE_GNU, NT_GNU_BUILD_ID, ret_id, ELF_BUILD_ID_MAX_BYTES);
}

bool elf_file_has_device_code(const struct elf_file *file)
{
	GElf_Shdr header;

	return elf_section_find(file, ".nvFatBinSegment", SHT_NULL, &header);
}

bool elf_file_is_go(const struct elf_file *file)
{
	static const char *const sections[] = {".gopclntab", ".data.rel.ro.gopclntab",
					       ".go.buildinfo", ".note.go.buildid"};
	const u32 note_go_build_id = 4;
	GElf_Shdr header;
	u8 byte;

	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		if (elf_section_find(file, sections[i], SHT_NULL, &header))
			return true;
	}
	return file_note_find(file, "Go", note_go_build_id, &byte, sizeof(byte)) > 0;
}

/* ---- the dynamic section ---- */

static bool dynamic_find_in(const struct elf_file *file, const GElf_Phdr *header, s64 tag,
			    u64 *ret_value)
{
	Elf64_Dyn entries[DYNAMIC_READ_ENTRIES];
	size_t left = header->p_filesz / sizeof(*entries), count;

	if (left > DYNAMIC_ENTRIES_MAX)
		left = DYNAMIC_ENTRIES_MAX;
	for (u64 offset = header->p_offset; left; left -= count) {
		count = left < ARRAY_SIZE(entries) ? left : ARRAY_SIZE(entries);
		count = read_at(file->fd, offset, entries, count * sizeof(*entries)) /
			sizeof(*entries);
		for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
			if (entries[i].d_tag == tag) {
				*ret_value = entries[i].d_un.d_val;
				return true;
			}
		}
		if (!count || entries[count - 1].d_tag == DT_NULL)
			return false;
		offset += count * sizeof(*entries);
	}
	return false;
}

/* Reads PT_DYNAMIC, which is there also when the section table is not. */
bool elf_dynamic_find(const struct elf_file *file, s64 tag, u64 *ret_value)
{
	size_t count;

	if (elf_getphdrnum(file->elf, &count))
		return false;
	for (size_t i = 0; i < count && i < SEGMENTS_MAX; i++) {
		GElf_Phdr header;

		if (gelf_getphdr(file->elf, (int)i, &header) && header.p_type == PT_DYNAMIC &&
		    dynamic_find_in(file, &header, tag, ret_value))
			return true;
	}
	return false;
}

bool elf_file_is_static(const struct elf_file *file)
{
	size_t count;
	u64 value;

	if (elf_getphdrnum(file->elf, &count))
		return false;
	for (size_t i = 0; i < count && i < SEGMENTS_MAX; i++) {
		GElf_Phdr header;

		if (gelf_getphdr(file->elf, (int)i, &header) && header.p_type == PT_INTERP)
			return false;
	}
	return !elf_dynamic_find(file, DT_NEEDED, &value);
}

bool elf_file_has_text_relocations(const struct elf_file *file)
{
	u64 value;

	return elf_dynamic_find(file, DT_TEXTREL, &value) ||
	       (elf_dynamic_find(file, DT_FLAGS, &value) && value & DF_TEXTREL);
}

char *elf_file_soname(const struct elf_file *file)
{
	char name[SONAME_MAX_BYTES];
	u64 strings, offset;
	size_t size;

	if (!elf_dynamic_find(file, DT_STRTAB, &strings) ||
	    !elf_dynamic_find(file, DT_SONAME, &offset) || offset > UINT64_MAX - strings)
		return NULL;
	size = elf_file_read_address(file, strings + offset, name, sizeof(name));
	if (!size || !name[0] || !memchr(name, 0, size))
		return NULL;
	return strdup(name);
}
