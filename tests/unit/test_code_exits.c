/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where calls end, followed through the jumps of small libraries that are assembled here. */
#include "code/code_exits.h"

#include "code_file.h"
#include "scratch_folder.h"
#include "unit.h"

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

TEST(libraries_are_built)
{
	if (system("gcc --version >/dev/null 2>&1"))
		SKIP("no gcc");
	write_file("exits.S", source);
	write_file("libc.S", source_of_libc);
	tools = shell("gcc -shared -o exits.so exits.S && gcc -shared -o libc.so libc.S");
}

struct exits {
	struct return_site *sites;
	size_t count;
	u64 address; /* of the function */
	bool complete;
};

static struct exits exits_of(const char *library, const char *name)
{
	char path[SCRATCH_PATH_BYTES];
	struct code_file code = code_file_open(in_folder(path, library));
	struct exits exits = {.address = code_file_address(&code, name)};

	CHECK_U64(code_exits_find(code.file, &code.symbols, exits.address, &exits.sites,
				  &exits.count, &exits.complete),
		  0);
	code_file_close(&code);
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
	check("exits.so", "plain", 2, true);
	exits = exits_of("exits.so", "plain");
	if (exits.count == 2) {
		CHECK_U64(exits.sites[0].popped_bytes, 0);
		CHECK_U64(exits.sites[1].popped_bytes, 8);
	}
	free(exits.sites);
	check("exits.so", "shared_end", 1, true);
	check("exits.so", "calls", 1, true);
	check("exits.so", "for_ever", 0, true);
	check("exits.so", "stops", 0, true);
}

TEST(jumps_by_the_plt_lead_to_the_files_own_functions)
{
	if (!tools)
		SKIP("no gcc");
	check("exits.so", "own_by_plt", 3, true);
	check("exits.so", "own_by_slot", 1, true);
	check("exits.so", "foreign_by_plt", 1, false);
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
	check_first("exits.so", 2);
	check_first("libc.so", 1);
	/* Where one goes on to the PLT only on a condition, and where nobody knows who is chosen. */
	check("exits.so", "zeroes_on_condition", 1, false);
	check("libc.so", "chooses", 0, false);
}

TEST(what_is_not_known_is_said)
{
	if (!tools)
		SKIP("no gcc");
	check("exits.so", "by_register", 0, false);
	check("exits.so", "by_table", 0, false);
	check("exits.so", "many", 64, false);
}

UNIT_MAIN()
