/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What refers to the code of small libraries that are assembled here: code and tables do, constants that look so do not. */
#include "code/code_scan.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

static char folder[] = "/tmp/gpuprobe-test-scan-XXXXXX";
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

static bool shell(const char *command)
{
	char line[1024];

	snprintf(line, sizeof(line), "cd %s && (%s) >>log 2>&1", folder, command);
	if (!system(line))
		return true;
	UNIT_FAIL("failed: %s", line);
	return false;
}

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
	char path[256];
	FILE *file;

	if (system("gcc --version >/dev/null 2>&1"))
		SKIP("no gcc");
	snprintf(path, sizeof(path), "%s/scan.S", folder);
	file = fopen(path, "w");
	if (!file)
		abort();
	fputs(source, file);
	fclose(file);
	/* Constants in the segment of the code, as in NVIDIA's libraries. */
	tools = shell("gcc -nostdlib -shared -Wl,-z,noseparate-code -o sections.so scan.S && "
		      "cp sections.so segments.so");
	snprintf(path, sizeof(path), "%s/segments.so", folder);
	if (tools)
		forget_sections(path);
}

struct scanned {
	struct code_references *references;
	u64 places; /* address of the function */
};

static struct scanned scan(const char *name)
{
	struct scanned scanned = {0};
	struct elf_symbols symbols = {0};
	struct elf_file *file = NULL;
	struct err err = {0};
	char path[256];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "%s/%s.so", folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_OK(elf_file_open(fd, path, &file, &err), err);
	CHECK_OK(elf_symbols_load(file, "", &symbols, &err), err);
	for (size_t i = 0; i < symbols.count; i++)
		if (!strcmp(symbols.items[i].name, "places"))
			scanned.places = symbols.items[i].address;
	CHECK_U64(code_scan(file, &symbols, NULL, 0, NULL, &scanned.references), 0);
	elf_symbols_free(&symbols);
	elf_file_free(file);
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
	scanned = scan("sections");
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

/* Where nothing tells constants from code, they are code. */
TEST(without_sections_all_of_the_segment_is_code)
{
	struct elf_segment *pieces = NULL;
	struct elf_file *file = NULL;
	struct err err = {0};
	char path[256];
	_cleanup_close_ int fd = -1;
	ssize_t with, without;
	u64 with_bytes;

	if (!tools)
		SKIP("no gcc");
	snprintf(path, sizeof(path), "%s/sections.so", folder);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_OK(elf_file_open(fd, path, &file, &err), err);
	with = elf_file_code(file, &pieces);
	CHECK_U64((u64)with, 1);
	with_bytes = pieces[0].file_size_bytes;
	CHECK(with_bytes < 1024);
	free(pieces);
	elf_file_free(file);
	cleanup_close(&fd);
	snprintf(path, sizeof(path), "%s/segments.so", folder);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_OK(elf_file_open(fd, path, &file, &err), err);
	without = elf_file_code(file, &pieces);
	CHECK_U64((u64)without, 1);
	CHECK(pieces[0].file_size_bytes > with_bytes + 300000);
	free(pieces);
	elf_file_free(file);
}

static void remove_folder(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (system(command))
		perror(folder);
}

__attribute__((constructor)) static void make_folder(void)
{
	if (!mkdtemp(folder))
		abort();
	atexit(remove_folder);
}

UNIT_MAIN()
