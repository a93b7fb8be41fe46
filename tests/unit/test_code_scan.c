/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What refers to the code of small libraries that are assembled here: code and tables do, constants that look so do not. */
#include "code/code_scan.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "code_file.h"
#include "scratch_folder.h"
#include "unit.h"

static bool tools;

/* places is code that only constants lead into, as the bytes of a jump; a table and a jump lead to other places of it. The last
 * table lies far behind the others. */
static const char source[] =
	".hidden places\n.globl places\n.type places, @function\n"
	"places: .fill 64, 1, 0x90\n.Lafter:\nret\n.size places, .-places\n"
	".fill 300, 1, 0x90\n.globl uses\n.type uses, @function\n"
	"uses: lea table(%rip), %rax\nlea far_table(%rip), %rax\nlea places+40(%rip), %rax\n"
	"jmp places+8\nret\n.size uses, .-uses\n"
	".section .rodata\n"
	"constants: .byte 0xe9\n.long places+16-(.+4)\n"
	".balign 4\ntable: .long places+24-table, places+32-table, 0x40000000\n"
	".fill 300000, 1, 0x55\n"
	".balign 4\nfar_table: .long places+48-far_table\n.fill 65535, 4, 0x40000000\n"
	".section .note.GNU-stack,\"\",@progbits\n";

/* Takes the table of sections away. */
static void forget_sections(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC);
	u64 offset = 0;
	u16 none = 0;

	CHECK_U64((u64)pwrite(fd, &offset, sizeof(offset), offsetof(Elf64_Ehdr, e_shoff)),
		  sizeof(offset));
	CHECK_U64((u64)pwrite(fd, &none, sizeof(none), offsetof(Elf64_Ehdr, e_shnum)),
		  sizeof(none));
	CHECK_U64((u64)pwrite(fd, &none, sizeof(none), offsetof(Elf64_Ehdr, e_shstrndx)),
		  sizeof(none));
}

TEST(libraries_are_built)
{
	char path[SCRATCH_PATH_BYTES];

	if (system("gcc --version >/dev/null 2>&1"))
		SKIP("no gcc");
	write_file("scan.S", source);
	/* Constants in the segment of the code, as in NVIDIA's libraries. */
	tools = shell("gcc -nostdlib -shared -Wl,-z,noseparate-code -o sections.so scan.S && "
		      "cp sections.so segments.so");
	if (tools)
		forget_sections(in_folder(path, "segments.so"));
}

struct scanned {
	struct code_references *references;
	u64 places; /* address of the function */
};

static struct scanned scan(const char *library)
{
	char path[SCRATCH_PATH_BYTES];
	struct code_file code = code_file_open(in_folder(path, library));
	struct scanned scanned = {.places = code_file_address(&code, "places")};

	CHECK_U64(code_scan(code.file, &code.symbols, NULL, 0, NULL, &scanned.references), 0);
	code_file_close(&code);
	return scanned;
}

static bool leads(const struct scanned *scanned, enum code_reference kind, u64 place)
{
	u64 address = scanned->places + place;

	return code_references_find(scanned->references, kind, address, address + 1) == address;
}

TEST(code_and_tables_lead_to_code_and_constants_do_not)
{
	struct scanned scanned;

	if (!tools)
		SKIP("no gcc");
	scanned = scan("sections.so");
	CHECK(scanned.places);
	CHECK(leads(&scanned, REFERENCE_JUMP, 0));
	CHECK(leads(&scanned, REFERENCE_JUMP, 8));
	CHECK(!leads(&scanned, REFERENCE_JUMP, 16));
	CHECK(leads(&scanned, REFERENCE_POINTER, 24));
	CHECK(leads(&scanned, REFERENCE_POINTER, 32));
	CHECK(leads(&scanned, REFERENCE_POINTER, 40));
	CHECK(leads(&scanned, REFERENCE_POINTER, 48));
	CHECK(!leads(&scanned, REFERENCE_JUMP, 56) && !leads(&scanned, REFERENCE_POINTER, 56));
	code_references_free(scanned.references);
}

/* Of the one piece of code that the library has. */
static u64 code_bytes(const char *library)
{
	char path[SCRATCH_PATH_BYTES];
	struct code_file code = code_file_open(in_folder(path, library));
	struct elf_segment *pieces = NULL;
	u64 bytes;

	CHECK_U64((u64)elf_file_code(code.file, &pieces), 1);
	bytes = pieces[0].file_size_bytes;
	free(pieces);
	code_file_close(&code);
	return bytes;
}

/* Where nothing tells constants from code, they are code. */
TEST(without_sections_all_of_the_segment_is_code)
{
	if (!tools)
		SKIP("no gcc");
	CHECK(code_bytes("sections.so") < 1024);
	CHECK(code_bytes("segments.so") > 1024 + 300000);
}

UNIT_MAIN()
