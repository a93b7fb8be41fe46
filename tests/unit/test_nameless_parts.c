/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of functions whose names are gone: what is found out without the names against what they say. */
#include "code/module_code.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "code/cold_parts.h"
#include "code_file.h"
#include "scratch_folder.h"
#include "unit.h"

struct exits {
	struct return_site *sites;
	size_t count;
	const char *reason;
};

static struct exits exits_of(struct module_code *code, u64 address)
{
	struct exits exits = {0};

	CHECK_U64(module_code_returns(code, address, &exits.sites, &exits.count, &exits.reason), 0);
	return exits;
}

/* ---- by hand ---- */

/* clang-format off */
#define FUNCTION(name, code)                                                                            \
	".globl " name "\n.type " name ", @function\n.p2align 4\n" name ":\n.cfi_startproc\n" code       \
	"\n.cfi_endproc\n.size " name ", . - " name "\n"
/* Local labels leave no names. */
#define PIECE(label, code)                                                                               \
	".section .text.unlikely,\"ax\",@progbits\n" label ":\n.cfi_startproc\n" code                     \
	"\n.cfi_endproc\n.text\n"
#define MOVED(bytes) ".cfi_adjust_cfa_offset " bytes "\n"
/* With a table of one call, whose exceptions go on at .Lpad_of_NAME. */
#define CATCHES(name)                                                                                    \
	FUNCTION(name, ".cfi_lsda 0x1b, .Ltable_of_" name "\ncall getpid@PLT\n.Lend_of_" name ": ret")     \
	".section .gcc_except_table,\"a\",@progbits\n.Ltable_of_" name ": .byte 0x1b\n"                     \
	".long .Lpad_of_" name " - . - 1\n.byte 0xff, 1\n.uleb128 2f - 1f\n"                                \
	"1: .uleb128 0\n.uleb128 .Lend_of_" name " - " name "\n.uleb128 1\n.uleb128 0\n2:\n.text\n"
/* clang-format on */

/* clang-format off */
static const char source[] =
	/* The frame is the same on both sides of the jump. */
	FUNCTION("keeps_frame", "push %rbx\n" MOVED("8") "jne .Lframe\npop %rbx\n" MOVED("-8") "ret")
	PIECE(".Lframe", MOVED("8") "pop %rbx\n" MOVED("-8") "ret")
	/* It is another one: nobody knows what this is. */
	FUNCTION("other_frame", "push %rbx\n" MOVED("8") "jne .Lother\npop %rbx\n" MOVED("-8") "ret")
	PIECE(".Lother", MOVED("16") "pop %rbx\nret")
	FUNCTION("calls_other", "call .Lother\nret")
	/* No frame: it jumps back; never returns; returns, and nothing else leads there. */
	FUNCTION("jumps_back", "jne .Lback\n.Lhome: ret")
	PIECE(".Lback", "nop\njmp .Lhome")
	FUNCTION("never_returns", "jne .Lnever\nret")
	PIECE(".Lnever", "call abort@PLT")
	FUNCTION("alone", "jne .Lalone\nret")
	PIECE(".Lalone", "nop\nret")
	FUNCTION("loops_elsewhere", "jne .Lloop\nret")
	PIECE(".Lloop", ".rept 200\nnop\n.endr\njne .Lloop\nret")
	/* What stands before it goes on into it; or jumps there, by a short jump. */
	FUNCTION("fallen_into", "jne .Lfallen\nret")
	PIECE(".Labove", "nop")
	PIECE(".Lfallen", "nop\nret")
	FUNCTION("short_jump_to", "jne .Lshort\nret")
	PIECE(".Lnear", "jmp .Lshort")
	PIECE(".Lshort", "nop\nret")
	/* To behind its start: no function is entered there. */
	FUNCTION("into_its_middle", "jne .Lmiddle\nret")
	PIECE(".Lbefore", "nop\n.Lmiddle: nop\nret")
	/* Called by others: a function, by which this one is left; also with a prefix. */
	FUNCTION("called_too", "jne .Lcalled\nret")
	FUNCTION("calls", "call .Lcalled\nret")
	PIECE(".Lcalled", "nop\nret")
	FUNCTION("called_with_prefix", "jne .Lprefix\nret")
	FUNCTION("calls_with_prefix", "addr32 call .Lprefix\nret")
	PIECE(".Lprefix", "nop\nret")
	FUNCTION("calls_it_itself", "call .Litself\njne .Litself\nret")
	PIECE(".Litself", "call abort@PLT")
	/* Jumped to by others, or two pieces by each other: perhaps a function, perhaps not. */
	FUNCTION("shared", "jne .Lshared\nret")
	FUNCTION("shares", "jmp .Lshared")
	PIECE(".Lshared", "nop\nret")
	FUNCTION("two_by_turns", "jne .Lone\nret")
	PIECE(".Lone", ".rept 200\nnop\n.endr\njne .Ltwo\nret")
	PIECE(".Ltwo", ".rept 200\nnop\n.endr\njne .Lone\nret")
	/* Its address is taken: a function perhaps, and perhaps a case of a switch. */
	FUNCTION("pointed_to", "jne .Lpointed\nret")
	PIECE(".Lpointed", "nop\nret")
	".data\n.quad .Lpointed\n.text\n"
	/* Of which all cases are elsewhere: with a frame and without. */
	FUNCTION("switch_away", "push %rbx\n" MOVED("8") "lea .Lcases(%rip), %rdx\nmovslq (%rdx,%rdi,4), %rax\n"
				"add %rdx, %rax\njmp *%rax")
	PIECE(".Lcase", MOVED("8") "pop %rbx\n" MOVED("-8") "ret")
	FUNCTION("switch_away_frameless", "lea .Lcases_frameless(%rip), %rdx\nmovslq (%rdx,%rdi,4), %rax\n"
					  "add %rdx, %rax\njmp *%rax")
	PIECE(".Lcase_frameless", "nop\nret")
	".section .rodata\n.p2align 2\n.Lcases: .long .Lcase - .Lcases\n"
	".Lcases_frameless: .long .Lcase_frameless - .Lcases_frameless\n.text\n"
	/* Leads on to another file. */
	FUNCTION("by_plt", "jne getpid@PLT\nret")
	/* To another function, while more is on the stack: it goes on there. */
	FUNCTION("goes_on", "push %rbx\n" MOVED("8") "nop\njmp calls")
	/* What looks like a jump into it is part of a number. */
	FUNCTION("looks_entered", "nop\n.Llooks: nop\nret")
	FUNCTION("has_a_number", ".byte 0x48, 0xb8, 0xe9\n.long .Llooks - . - 4\n.byte 0, 0, 0\nret")
	/* And what is one, with a prefix too. */
	FUNCTION("is_entered", "nop\n.Lentered: nop\nret")
	FUNCTION("enters", ".byte 0xe9\n.long .Lentered - . - 4")
	FUNCTION("is_entered_with_prefix", "nop\n.Lprefixed: nop\nret")
	FUNCTION("enters_with_prefix", ".byte 0xf2, 0xe9\n.long .Lprefixed - . - 4")
	/* Bytes that nobody can read in order. */
	FUNCTION("may_be_entered", "nop\n.Lmay: nop\nret")
	FUNCTION("is_unreadable", ".byte 0x48, 0xb8, 0xe9\n.long .Lmay - . - 4\n.byte 0, 0, 0\nret\n.byte 0x06")
	/* Where exceptions go on: in a piece; in one that has a name; where no table is. */
	CATCHES("catches")
	PIECE(".Lpad_of_catches", "nop\nret")
	CATCHES("catches_by_name")
	".section .text.unlikely,\"ax\",@progbits\n.type named, @function\nnamed:\n.cfi_startproc\n"
	".Lpad_of_catches_by_name: nop\nret\n.cfi_endproc\n.size named, . - named\n.text\n"
	CATCHES("catches_unseen")
	".section .text.unlikely,\"ax\",@progbits\n.Lpad_of_catches_unseen: nop\nret\n.text\n"
	".section .note.GNU-stack,\"\",@progbits\n";
/* clang-format on */

static bool assembled;

TEST(a_library_is_assembled)
{
	if (system("gcc --version >/dev/null 2>&1"))
		SKIP("no gcc");
	write_file("parts.S", source);
	assembled = shell("gcc -shared -o parts.so parts.S");
}

static const struct {
	const char *name;
	size_t exits;
	const char *reason; /* what it has of it; NULL: none */
} expected[] = {
	{"keeps_frame", 2, NULL},
	{"other_frame", 0, "not given back its stack"},
	{"jumps_back", 1, NULL},
	{"never_returns", 1, NULL},
	{"alone", 2, NULL},
	{"loops_elsewhere", 2, NULL},
	{"fallen_into", 0, "without a name"},
	{"short_jump_to", 0, "without a name"},
	{"into_its_middle", 2, NULL},
	{"called_too", 2, NULL},
	{"called_with_prefix", 2, NULL},
	{"calls_it_itself", 2, NULL},
	{"shared", 0, "without a name"},
	{"two_by_turns", 0, "without a name"},
	{"pointed_to", 0, "without a name"},
	{"switch_away", 0, "computed jump"},
	{"switch_away_frameless", 0, "computed jump"},
	{"by_plt", 2, NULL},
	{"goes_on", 0, "not given back its stack"},
	{"looks_entered", 1, NULL},
	{"is_entered", 0, "other code jumps into it"},
	{"is_entered_with_prefix", 0, "other code jumps into it"},
	{"may_be_entered", 0, "other code jumps into it"},
	{"catches", 2, NULL},
	{"catches_by_name", 0, "exceptions go on"},
	{"catches_unseen", 0, "exceptions go on"},
};

TEST(which_pieces_are_parts)
{
	char path[SCRATCH_PATH_BYTES];
	struct code_file file;
	struct module_code *code;
	struct err err = {0};

	if (!assembled)
		SKIP("no gcc");
	file = code_file_open(in_folder(path, "parts.so"));
	CHECK_OK(module_code_open(file.fd, path, "", &code, &err), err);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		CHECK_U64(module_code_expect(code, code_file_address(&file, expected[i].name)), 0);
	for (size_t round = 0; round < 3; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
			u64 address = code_file_address(&file, expected[i].name);
			struct exits exits = exits_of(code, address);
			const char *reason = exits.reason ? exits.reason : "";

			if (round == 2 &&
			    (exits.count != expected[i].exits ||
			     !exits.reason != !expected[i].reason ||
			     (expected[i].reason && !strstr(reason, expected[i].reason))))
				UNIT_FAIL("%s: %zu exits, %s", expected[i].name, exits.count,
					  reason);
			free(exits.sites);
		}
		CHECK_U64(module_code_answer(code), 0);
	}
	module_code_free(code);
	code_file_close(&file);
}

/* ---- against names ---- */

/* A file without the names of cold parts beside the same one with them. */
struct pair {
	int fds[2];
	struct module_code *codes[2];
};

struct tally {
	size_t functions, known, same, unknown, other, with_parts;
};

static bool pair_open(struct pair *pair, const char *with, const char *without)
{
	const char *paths[] = {with, without};
	struct err err = {0};

	for (size_t i = 0; i < 2; i++) {
		pair->fds[i] = open(paths[i], O_RDONLY | O_CLOEXEC);
		CHECK_OK(module_code_open(pair->fds[i], paths[i], "", &pair->codes[i], &err), err);
		if (!pair->codes[i])
			return false;
	}
	return true;
}

static void pair_close(struct pair *pair)
{
	for (size_t i = 0; i < 2; i++) {
		module_code_free(pair->codes[i]);
		close(pair->fds[i]);
	}
}

static bool are_same(const struct exits *left, const struct exits *right)
{
	if (left->count != right->count)
		return false;
	for (size_t i = 0; i < left->count; i++)
		if (left->sites[i].address != right->sites[i].address ||
		    left->sites[i].kind != right->sites[i].kind)
			return false;
	return true;
}

static void compare(struct pair *pair, const struct elf_symbol *symbol, struct tally *tally)
{
	struct exits with = exits_of(pair->codes[0], symbol->address);
	struct exits without = exits_of(pair->codes[1], symbol->address);

	tally->functions++;
	tally->known += !with.reason;
	if (!with.reason && without.reason) {
		tally->unknown++;
	} else if (!with.reason && are_same(&with, &without)) {
		tally->same++;
	} else if (!with.reason && !without.reason) {
		tally->other++;
		printf("# %s: %zu exits with names, %zu without them\n", symbol->name, with.count,
		       without.count);
	}
	free(with.sites);
	free(without.sites);
}

static struct tally compare_all(const char *with, const char *without)
{
	struct pair pair = {0};
	struct tally tally = {0};

	if (!pair_open(&pair, with, without))
		return tally;
	for (size_t round = 0; round < 3; round++) {
		const struct elf_symbols *symbols = module_code_symbols(pair.codes[0]);
		u64 last = 0;

		tally = (struct tally){0};
		for (size_t i = 0; i < symbols->count; i++) {
			const struct elf_symbol *symbol = &symbols->items[i];

			if (symbol->address != last && !cold_part_is_name(symbol->name))
				compare(&pair, symbol, &tally);
			last = symbol->address;
		}
		for (size_t i = 0; i < 2; i++)
			CHECK_U64(module_code_answer(pair.codes[i]), 0);
	}
	pair_close(&pair);
	printf("# %s: of %zu functions the exits of %zu are known with the names of parts; without "
	       "them the same "
	       "of %zu, none of %zu, others of %zu\n",
	       with, tally.functions, tally.known, tally.same, tally.unknown, tally.other);
	return tally;
}

static u8 *file_read(const char *path, size_t *ret_size)
{
	struct stat state;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	u8 *bytes = fd < 0 || fstat(fd, &state) ? NULL : malloc((size_t)state.st_size);

	for (*ret_size = 0; bytes && *ret_size < (size_t)state.st_size;) {
		ssize_t size = read(fd, bytes + *ret_size, (size_t)state.st_size - *ret_size);

		if (size <= 0)
			break;
		*ret_size += (size_t)size;
	}
	close(fd);
	return bytes;
}

/* Symbols of cold parts are made ones that the file does not define; how many. (objcopy damages files that BOLT has rewritten.) */
static size_t cold_names_remove(u8 *bytes)
{
	size_t count = 0;
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(bytes + header->e_shoff);

	for (size_t i = 0; i < header->e_shnum; i++) {
		const Elf64_Shdr *section = &sections[i];
		const char *names = (const char *)bytes + sections[section->sh_link].sh_offset;
		Elf64_Sym *symbols = (Elf64_Sym *)(bytes + section->sh_offset);

		if (section->sh_type != SHT_SYMTAB && section->sh_type != SHT_DYNSYM)
			continue;
		for (size_t j = 0; j < section->sh_size / sizeof(*symbols); j++)
			if (cold_part_is_name(names + symbols[j].st_name)) {
				symbols[j].st_shndx = SHN_UNDEF;
				count++;
			}
	}
	return count;
}

/* Of which gcc puts what is seldom done elsewhere: with a frame and without, coming back and not. */
static const char seldom[] =
	"#include <stdlib.h>\n"
	"__attribute__((cold, noinline)) int report(int x) { __asm__ volatile(\"\"); return x; }\n"
	"int other(int *a);\n"
	"#define FUNCTIONS(n) \\\n"
	"int comes_back##n(int *a, int x) { int s = other(a); if (x == n) s += report(x) + "
	"other(a); return s + other(a) + x; } \\\n"
	"int returns##n(int *a, int x) { if (x > n) { a[0] = report(x); return n; } return a[1] + "
	"x; } \\\n"
	"int stops##n(int *a, int x) { if (a[x] == n) abort(); return a[x + 1]; } \\\n"
	"int hands_on##n(int *a, int x) { if (x == n) { report(n); return other(a + 1); } return "
	"other(a); }\n"
	"FUNCTIONS(1) FUNCTIONS(20) FUNCTIONS(300)\n";

static size_t compare_without_names(const char *path)
{
	char without[SCRATCH_PATH_BYTES];
	struct tally tally;
	size_t size, count;
	u8 *bytes = file_read(path, &size);
	FILE *file;

	CHECK(bytes != NULL);
	if (!bytes)
		return 0;
	count = cold_names_remove(bytes);
	file = fopen(in_folder(without, "without"), "w");
	CHECK(file && fwrite(bytes, 1, size, file) == size && !fclose(file));
	free(bytes);
	tally = compare_all(path, without);
	CHECK_U64(tally.other, 0);
	CHECK(tally.same > 0);
	return count;
}

/* GPUPROBE_TEST_FILE=FILE: of this one too; its names are to be believed. */
TEST(as_the_names_say)
{
	const char *another = getenv("GPUPROBE_TEST_FILE");
	char path[SCRATCH_PATH_BYTES];

	if (!assembled)
		SKIP("no gcc");
	write_file("seldom.c", seldom);
	if (shell("gcc -O2 -fPIC -shared -o seldom.so seldom.c"))
		CHECK(compare_without_names(in_folder(path, "seldom.so")) >= 6);
	compare_without_names("/proc/self/exe");
	if (another)
		compare_without_names(another);
}

UNIT_MAIN()
