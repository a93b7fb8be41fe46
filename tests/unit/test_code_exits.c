/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where calls end, followed through the jumps of small libraries that are assembled here. */
#include "code/code_exits.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

static char folder[] = "/tmp/gpuprobe-test-exits-XXXXXX";
static bool tools;

#define FUNCTION(name, code) ".globl " name "\n.type " name ", @function\n" name ":\n" code "\n"

static const char source[] = FUNCTION("plain", "test %edi, %edi\nje 1f\nret\n1: ret $8") FUNCTION(
	"shared_end", "jmp .Lend") FUNCTION("other_shared_end", "nop\n.Lend: ret")
	FUNCTION("calls", "sub $8, %rsp\ncall getpid@PLT\nadd $8, %rsp\nret") FUNCTION(
		"own_by_plt",
		"test %edi, %edi\njne plain@PLT\nret") FUNCTION("own_by_slot",
								"jmp *calls@GOTPCREL(%rip)")
		FUNCTION("foreign_by_plt", "test %edi, %edi\njne getpid@PLT\nret") FUNCTION(
			"zeroes", "test %rax, %rax\njne 1f\nret\n1: mov %rax, %rdi\njmp memset@PLT")
			FUNCTION("zeroes_on_condition",
				 "test %edi, %edi\nje memset@PLT\nret") FUNCTION("by_register",
										 "jmp *%rax")
				FUNCTION("by_table", "jmp *(%rax,%rdi,8)") FUNCTION(
					"for_ever", "1: jmp 1b") FUNCTION("stops", "ud2")
					FUNCTION("many",
						 ".rept 70\ntest %edi, %edi\nje "
						 "1f\nret\n1:\n.endr\nud2") ".section "
									    ".note.GNU-stack,\"\",@"
									    "progbits\n";

/* A memset of its own, chosen when it is loaded, and nobody else's: glibc has it like this. */
static const char source_of_libc[] =
	".hidden memset\n.globl memset\n.type memset, @gnu_indirect_function\n"
	"memset: lea .Lmemset(%rip), %rax\nret\n.Lmemset: mov %rdi, %rax\nret\n"
	".hidden chosen\n.globl chosen\n.type chosen, @gnu_indirect_function\n"
	"chosen: lea .Lmemset(%rip), %rax\nret\n" FUNCTION("zeroes", "jmp memset")
		FUNCTION("chooses", "jmp chosen") ".section .note.GNU-stack,\"\",@progbits\n";

static bool assemble(const char *name, const char *text)
{
	char path[256], command[1024];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.S", folder, name);
	file = fopen(path, "w");
	if (!file)
		abort();
	fputs(text, file);
	fclose(file);
	snprintf(command, sizeof(command), "cd %s && gcc -shared -o %s.so %s.S >log 2>&1", folder,
		 name, name);
	if (!system(command))
		return true;
	UNIT_FAIL("failed: %s", command);
	return false;
}

TEST(libraries_are_built)
{
	if (system("gcc --version >/dev/null 2>&1"))
		SKIP("no gcc");
	tools = assemble("exits", source) && assemble("libc", source_of_libc);
}

struct exits {
	struct return_site *sites;
	size_t count;
	u64 address; /* of the function */
	bool complete;
};

static u64 address_of(const struct elf_symbols *symbols, const char *name)
{
	for (size_t i = 0; i < symbols->count; i++)
		if (!strcmp(symbols->items[i].name, name))
			return symbols->items[i].address;
	UNIT_FAIL("no symbol %s", name);
	return 0;
}

static struct exits exits_of(const char *library, const char *name)
{
	struct elf_symbols symbols = {0};
	struct elf_file *file = NULL;
	struct exits exits = {0};
	struct err err = {0};
	char path[256];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "%s/%s.so", folder, library);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_OK(elf_file_open(fd, path, &file, &err), err);
	CHECK_OK(elf_symbols_load(file, "", &symbols, &err), err);
	exits.address = address_of(&symbols, name);
	CHECK_U64(code_exits_find(file, &symbols, exits.address, &exits.sites, &exits.count,
				  &exits.complete),
		  0);
	elf_symbols_free(&symbols);
	elf_file_free(file);
	return exits;
}

static void check(const char *library, const char *name, size_t count, bool complete)
{
	struct exits exits = exits_of(library, name);

	if (exits.count != count || exits.complete != complete)
		UNIT_FAIL("%s: %zu exits, %scomplete", name, exits.count,
			  exits.complete ? "" : "not ");
	for (size_t i = 0; i < exits.count; i++) {
		CHECK_U64(exits.sites[i].kind, RETURN_SITE_RET);
		CHECK(!i || exits.sites[i - 1].address < exits.sites[i].address);
	}
	free(exits.sites);
}

TEST(rets_that_control_leads_to)
{
	struct exits exits;

	if (!tools)
		SKIP("no gcc");
	check("exits", "plain", 2, true);
	exits = exits_of("exits", "plain");
	if (exits.count == 2) {
		CHECK_U64(exits.sites[0].popped_bytes, 0);
		CHECK_U64(exits.sites[1].popped_bytes, 8);
	}
	free(exits.sites);
	check("exits", "shared_end", 1, true);
	check("exits", "calls", 1, true);
	check("exits", "for_ever", 0, true);
	check("exits", "stops", 0, true);
}

TEST(jumps_by_the_plt_lead_to_the_files_own_functions)
{
	if (!tools)
		SKIP("no gcc");
	check("exits", "own_by_plt", 3, true);
	check("exits", "own_by_slot", 1, true);
	check("exits", "foreign_by_plt", 1, false);
}

/* The result is what memset is given: it is known at the jump. */
static void check_first(const char *library, size_t count)
{
	struct exits exits = exits_of(library, "zeroes");

	CHECK_U64(exits.count, count);
	CHECK(exits.complete);
	if (exits.count == count)
		CHECK_U64(exits.sites[count - 1].kind, RETURN_SITE_JUMP);
	free(exits.sites);
}

TEST(jumps_to_memset_end_the_call)
{
	if (!tools)
		SKIP("no gcc");
	check_first("exits", 2);
	check_first("libc", 1);
	/* Where one goes on to the PLT only on a condition, and where nobody knows who is chosen. */
	check("exits", "zeroes_on_condition", 1, false);
	check("libc", "chooses", 0, false);
}

TEST(what_is_not_known_is_said)
{
	if (!tools)
		SKIP("no gcc");
	check("exits", "by_register", 0, false);
	check("exits", "by_table", 0, false);
	check("exits", "many", 64, false);
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
