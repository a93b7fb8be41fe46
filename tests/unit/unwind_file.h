/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file with code of which only the unwind tables are real, made entry by entry, and rules as text. */
#ifndef GPUPROBE_TESTS_UNWIND_FILE_H
#define GPUPROBE_TESTS_UNWIND_FILE_H

#include <ctype.h>
#include <dwarf.h>
#include <gelf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/elf_unwind_rows.h"
#include "unit.h"
#include "unwind_sound.h"

/* Of the file; it is loaded at BASE as it is. */
#define HEADER_OFFSET	0x200  /* .eh_frame_hdr */
#define FRAME_OFFSET	0x400  /* .eh_frame */
#define SECTIONS_OFFSET 0x60000 /* headers of the sections, and their names */
#define NAMES_OFFSET	0x60800
#define TEXT_OFFSET	0x61000
#define FILE_BYTES	0x73000
#define BASE		0x10000ULL
#define TEXT		(BASE + TEXT_OFFSET)
#define TEXT_BYTES	(FILE_BYTES - TEXT_OFFSET)
#define FRAME		(BASE + FRAME_OFFSET)

/* def_cfa rsp+8, return address at CFA-8: what every compiler begins with. */
#define USUAL "0c 07 08 90 01"

struct unwind_file {
	u8 bytes[FILE_BYTES];
	size_t size_bytes; /* of .eh_frame */
	bool no_sections;
};

static inline void put_number(struct unwind_file *file, u64 value, size_t size)
{
	memcpy(file->bytes + FRAME_OFFSET + file->size_bytes, &value, size);
	file->size_bytes += size;
}

static inline void put_hex(struct unwind_file *file, const char *hex)
{
	while (*hex) {
		unsigned value;

		if (isspace((unsigned char)*hex)) {
			hex++;
			continue;
		}
		if (sscanf(hex, "%2x", &value) != 1)
			abort();
		put_number(file, value, 1);
		hex += 2;
	}
}

/* Fills an entry up, and says how long it is. */
static inline void end_entry(struct unwind_file *file, size_t start)
{
	u32 length;

	while (file->size_bytes % 4)
		put_number(file, DW_CFA_nop, 1);
	length = (u32)(file->size_bytes - start - 4);
	memcpy(file->bytes + FRAME_OFFSET + start, &length, sizeof(length));
}

/* after: what follows the augmentation's letters: factors, return address's column, data, instructions. Returns where it is. */
static inline size_t put_cie_whole(struct unwind_file *file, u8 version, const char *letters, const char *after)
{
	size_t start = file->size_bytes;

	put_number(file, 0, 4);
	put_number(file, 0, 4);
	put_number(file, version, 1);
	for (size_t i = 0; i <= strlen(letters); i++)
		put_number(file, (u8)letters[i], 1);
	put_hex(file, after);
	end_entry(file, start);
	return start;
}

/* The usual one: addresses by 4 bytes from where they stand. */
static inline size_t put_cie(struct unwind_file *file, const char *instructions)
{
	char after[256];

	snprintf(after, sizeof(after), "01 78 10 01 1b %s", instructions);
	return put_cie_whole(file, 1, "zR", after);
}

/* before: what stands between CIE pointer and instructions. */
static inline void put_fde_whole(struct unwind_file *file, size_t cie, const char *before, const char *instructions)
{
	size_t start = file->size_bytes;

	put_number(file, 0, 4);
	put_number(file, file->size_bytes - cie, 4);
	put_hex(file, before);
	put_hex(file, instructions);
	end_entry(file, start);
}

static inline void put_fde(struct unwind_file *file, size_t cie, u64 address, u32 size, const char *instructions)
{
	size_t start = file->size_bytes;

	put_number(file, 0, 4);
	put_number(file, file->size_bytes - cie, 4);
	put_number(file, (u32)(address - (FRAME + file->size_bytes)), 4);
	put_number(file, size, 4);
	put_hex(file, "00");
	put_hex(file, instructions);
	end_entry(file, start);
}

static inline void put_section(struct unwind_file *file, size_t index, const char *name, u64 flags, u64 offset, u64 size)
{
	Elf64_Shdr *section = (Elf64_Shdr *)(file->bytes + SECTIONS_OFFSET) + index;

	section->sh_name = (u32)(16 * index);
	section->sh_type = index ? SHT_PROGBITS : SHT_NULL;
	section->sh_flags = flags;
	section->sh_addr = flags ? BASE + offset : 0;
	section->sh_offset = offset;
	section->sh_size = size;
	strcpy((char *)file->bytes + NAMES_OFFSET + 16 * index, name);
}

static inline void put_headers(struct unwind_file *file)
{
	Elf64_Ehdr *elf = (Elf64_Ehdr *)file->bytes;
	Elf64_Phdr *segments = (Elf64_Phdr *)(elf + 1);
	s32 frame = FRAME_OFFSET - (HEADER_OFFSET + 4);

	memcpy(elf->e_ident, ELFMAG, SELFMAG);
	elf->e_ident[EI_CLASS] = ELFCLASS64;
	elf->e_ident[EI_DATA] = ELFDATA2LSB;
	elf->e_ident[EI_VERSION] = elf->e_version = EV_CURRENT;
	elf->e_type = ET_DYN;
	elf->e_machine = EM_X86_64;
	elf->e_ehsize = sizeof(*elf);
	elf->e_phoff = sizeof(*elf);
	elf->e_phentsize = sizeof(*segments);
	elf->e_phnum = 2;
	segments[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = BASE, .p_filesz = FILE_BYTES,
				   .p_memsz = FILE_BYTES, .p_align = 4096};
	segments[1] = (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME, .p_flags = PF_R, .p_offset = HEADER_OFFSET,
				   .p_vaddr = BASE + HEADER_OFFSET, .p_filesz = 8, .p_memsz = 8};
	memcpy(file->bytes + HEADER_OFFSET, (u8[]){1, 0x1b, 0xff, 0xff}, 4);
	memcpy(file->bytes + HEADER_OFFSET + 4, &frame, 4);
	if (file->no_sections)
		return;
	elf->e_shoff = SECTIONS_OFFSET;
	elf->e_shentsize = sizeof(Elf64_Shdr);
	elf->e_shnum = 4;
	elf->e_shstrndx = 3;
	put_section(file, 0, "", 0, 0, 0);
	put_section(file, 1, ".text", SHF_ALLOC | SHF_EXECINSTR, TEXT_OFFSET, TEXT_BYTES);
	put_section(file, 2, ".eh_frame", SHF_ALLOC, FRAME_OFFSET, file->size_bytes);
	put_section(file, 3, ".shstrtab", 0, NAMES_OFFSET, 64);
	((Elf64_Shdr *)(file->bytes + SECTIONS_OFFSET))[3].sh_type = SHT_STRTAB;
}

/* The table of the file fd; false, and the test has failed. */
static inline bool read_rows_of(int fd, struct elf_unwind_rows *ret_rows)
{
	struct elf_file *elf = NULL;
	struct err err = {0};
	int result = elf_file_open(fd, "made", &elf, &err);

	if (!result)
		result = elf_unwind_rows_read(elf, ret_rows, &err);
	CHECK_OK(result, err);
	elf_file_free(elf);
	return !result;
}

static inline bool read_rows(struct unwind_file *file, struct elf_unwind_rows *ret_rows)
{
	int fd = memfd_create("unwind", MFD_CLOEXEC);
	bool done;

	put_headers(file);
	if (fd < 0 || write(fd, file->bytes, FILE_BYTES) != FILE_BYTES)
		abort();
	done = read_rows_of(fd, ret_rows);
	close(fd);
	return done;
}

/* ---- rules as text: "rsp+16 rbp=cfa-16", registers that are the same left out ---- */

static inline int show_register(char *text, size_t size, const char *name, u8 how, s16 offset)
{
	switch (how) {
	case UNWIND_SAME:
		return 0;
	case UNWIND_AT_CFA:
		return snprintf(text, size, " %s=cfa%+d", name, offset);
	case UNWIND_AT_RBP:
		return snprintf(text, size, " %s=rbp%+d", name, offset);
	case UNWIND_LOST:
		return snprintf(text, size, " %s lost", name);
	default:
		return snprintf(text, size, " %s?%u", name, how);
	}
}

static inline int show_cfa(char *text, size_t size, const struct unwind_rule *rule)
{
	static const char *const words[] = {"none", "end", "unsupported"};
	static const char *const registers[] = {"rsp", "rbp", "rbx"};

	if (rule->cfa <= UNWIND_CFA_UNSUPPORTED)
		return snprintf(text, size, "%s", words[rule->cfa]);
	if (rule->cfa <= UNWIND_CFA_RBX)
		return snprintf(text, size, "%s%+d", registers[rule->cfa - UNWIND_CFA_RSP], rule->cfa_offset);
	if (rule->cfa <= UNWIND_CFA_RBP_POINTS)
		return snprintf(text, size, "*(%s%+d)+%d", registers[rule->cfa - UNWIND_CFA_RSP_POINTS],
				rule->cfa_offset, 8 * rule->words);
	if (rule->cfa == UNWIND_CFA_PLT)
		return snprintf(text, size, "plt %d", rule->cfa_offset);
	if (rule->cfa == UNWIND_CFA_SIGNAL)
		return snprintf(text, size, "signal");
	if (rule->cfa == UNWIND_CFA_RBP_ELSEWHERE)
		return snprintf(text, size, "rbp%+d elsewhere", rule->cfa_offset);
	if (rule->cfa == UNWIND_CFA_GOROUTINE)
		return snprintf(text, size, "goroutine at rsp%+d, rsp%+d", 8 * rule->words, rule->cfa_offset);
	if (rule->cfa >= UNWIND_CFA_INDEXED)
		return snprintf(text, size, "*(rsp%+d+8*r%d)+%d", rule->cfa_offset, rule->cfa - UNWIND_CFA_INDEXED, 8 * rule->words);
	return snprintf(text, size, "r%d%+d", rule->cfa - UNWIND_CFA_REGISTER, rule->cfa_offset);
}

/* text: of 96 bytes. Returns it. */
static inline char *show_rule(char *text, const struct unwind_rule *rule)
{
	int at = show_cfa(text, 96, rule);

	at += show_register(text + at, 96 - (size_t)at, "rbp", rule->rbp, rule->rbp_offset);
	show_register(text + at, 96 - (size_t)at, "rbx", rule->rbx, rule->rbx_offset);
	return text;
}

#endif
