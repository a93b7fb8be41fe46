/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as .eh_frame of a file that is whole: fuzz_elf seldom gets that far. An input begins with
 *	u64 address of .eh_frame, u64 address of the code, u32 flags: 1 without a table of sections
 */
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../unit/unwind_sound.h"
#include "elf/elf_pieces.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#define WITHOUT_SECTIONS 1
#define FRAME_OFFSET	 0x1000
#define CODE_BYTES	 (1 << 20)
#define NAMES		 "\0.text\0.eh_frame"

struct input {
	u64 frame_address;
	u64 code_address;
	u32 flags;
} __attribute__((packed));

/* What stands before .eh_frame. */
struct head {
	Elf64_Ehdr elf;
	Elf64_Phdr segments[3];
	Elf64_Shdr sections[3];
	char names[sizeof(NAMES)];
	struct {
		u8 version, pointer, count, table;
		u64 address;
	} __attribute__((packed)) frame_header;
};

static void make_segments(struct head *head, const struct input *input, u64 frame_bytes)
{
	u64 header = offsetof(struct head, frame_header);

	head->segments[0] = (Elf64_Phdr){.p_type = PT_LOAD,
					 .p_flags = PF_R,
					 .p_vaddr = input->frame_address - FRAME_OFFSET,
					 .p_filesz = FRAME_OFFSET + frame_bytes};
	head->segments[1] = (Elf64_Phdr){.p_type = PT_LOAD,
					 .p_flags = PF_R | PF_X,
					 .p_vaddr = input->code_address,
					 .p_filesz = CODE_BYTES};
	head->segments[2] = (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME,
					 .p_vaddr = input->frame_address - FRAME_OFFSET + header};
	head->frame_header.version = 1;
	head->frame_header.address = input->frame_address;
}

static void make_sections(struct head *head, const struct input *input, u64 frame_bytes)
{
	head->elf.e_shoff = offsetof(struct head, sections);
	head->elf.e_shentsize = sizeof(*head->sections);
	head->elf.e_shnum = 3;
	head->sections[0] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
					 .sh_offset = offsetof(struct head, names),
					 .sh_size = sizeof(NAMES)};
	head->sections[1] = (Elf64_Shdr){.sh_name = 1,
					 .sh_type = SHT_PROGBITS,
					 .sh_flags = SHF_EXECINSTR,
					 .sh_addr = input->code_address,
					 .sh_size = CODE_BYTES};
	head->sections[2] = (Elf64_Shdr){.sh_name = 7,
					 .sh_type = SHT_PROGBITS,
					 .sh_addr = input->frame_address,
					 .sh_offset = FRAME_OFFSET,
					 .sh_size = frame_bytes};
	memcpy(head->names, NAMES, sizeof(NAMES));
}

static void write_file(int fd, const struct input *input, const u8 *frame, size_t frame_bytes)
{
	struct head head = {.elf = {.e_type = ET_DYN,
				    .e_machine = EM_X86_64,
				    .e_version = EV_CURRENT,
				    .e_ehsize = sizeof(head.elf),
				    .e_phoff = offsetof(struct head, segments),
				    .e_phentsize = sizeof(*head.segments),
				    .e_phnum = 3}};

	memcpy(head.elf.e_ident, ELFMAG, SELFMAG);
	head.elf.e_ident[EI_CLASS] = ELFCLASS64;
	head.elf.e_ident[EI_DATA] = ELFDATA2LSB;
	head.elf.e_ident[EI_VERSION] = EV_CURRENT;
	make_segments(&head, input, frame_bytes);
	if (!(input->flags & WITHOUT_SECTIONS))
		make_sections(&head, input, frame_bytes);
	if (ftruncate(fd, 0) < 0 || ftruncate(fd, FRAME_OFFSET + CODE_BYTES) < 0 ||
	    pwrite(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    pwrite(fd, frame, frame_bytes, FRAME_OFFSET) != (ssize_t)frame_bytes)
		abort();
}

static void pieces_touch(const struct elf_file *file, u64 code_address)
{
	struct elf_pieces *pieces;
	struct err err = {0};

	if (elf_pieces_read(file, &pieces, &err))
		return;
	for (u64 inside = 0; inside < CODE_BYTES; inside += 1021) {
		u64 address = code_address + inside;
		const struct elf_piece *piece = elf_pieces_find(pieces, address);
		struct elf_frame_address frame;
		size_t count;
		u64 *pads;

		if (!piece)
			continue;
		if (address < piece->start || address >= piece->end)
			abort();
		(void)elf_piece_frame_address(pieces, piece, address, &frame);
		if (!elf_piece_landing_pads(file, piece, &pads, &count))
			free(pads);
	}
	elf_pieces_free(pieces);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static int fd = -1;
	struct elf_unwind_rows rows;
	struct elf_file *file;
	struct err err = {0};
	struct input input;

	if (fd < 0)
		fd = memfd_create("fuzzed", MFD_CLOEXEC);
	if (fd < 0)
		abort();
	if (size < sizeof(input) || size > sizeof(input) + CODE_BYTES)
		return 0;
	memcpy(&input, data, sizeof(input));
	write_file(fd, &input, data + sizeof(input), size - sizeof(input));
	if (elf_file_open(fd, "fuzzed", &file, &err) < 0)
		abort();
	if (elf_unwind_rows_read(file, &rows, &err) < 0)
		abort();
	if (!rows_are_sound(&rows))
		abort();
	for (u64 inside = 0; inside < CODE_BYTES; inside += 1021)
		if (elf_unwind_rows_find(&rows, input.code_address + inside)->cfa >
		    UNWIND_CFA_INDEXED + 15)
			abort();
	elf_unwind_rows_free(&rows);
	pieces_touch(file, input.code_address);
	elf_file_free(file);
	return 0;
}
