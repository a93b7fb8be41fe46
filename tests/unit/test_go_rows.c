/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind rules by the table of Go's runtime, of each of its layouts: an assembler's program whose functions are those that matter. Real
 * programs, and what these say of their stacks themselves: tests/integration/test_go.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "elf/elf_go_rows.h"
#include "scratch_folder.h"
#include "unwind_file.h"

static const char source[] =
	"#if GO == 12\n#define FUNCTIONS table\n#else\n#define FUNCTIONS functions\n#endif\n"
	".macro FUNC number, symbol, flags\n"
	"f\\number:\n"
	"#if GO <= 116\n"
	"	.quad \\symbol; .long n\\number - names, 0, 0, s\\number - steps, 0, 0, 0, 0; "
	".byte 0, \\flags, 0, 0\n"
	"#elif GO == 118\n"
	"	.long \\symbol - text, n\\number - names, 0, 0, s\\number - steps, 0, 0, 0, 0; "
	".byte 0, \\flags, 0, 0\n"
	"#else\n"
	"	.long \\symbol - text, n\\number - names, 0, 0, s\\number - steps, 0, 0, 0, 0, 0; "
	".byte 0, \\flags, 0, 0\n"
	"#endif\n"
	".endm\n"
	".macro ENTRY number, symbol\n"
	"#if GO <= 116\n"
	"	.quad \\symbol, f\\number - FUNCTIONS\n"
	"#else\n"
	"	.long \\symbol - text, f\\number - FUNCTIONS\n"
	"#endif\n"
	".endm\n"
	".globl main\n.type main, @function\n.type stored, @function\n"
	".section .text.go, \"ax\", @progbits\n"
	"	.balign 32\n"
	"text:\n"
	/* main.stored: sub rsp, 24; mov [rsp + 16], rbp; lea rbp, [rsp + 16]; mov rbp, [rsp + 16]; add rsp, 24; ret */
	"stored: .byte 0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x6c, 0x24, 0x10, 0x48, 0x8d, 0x6c, "
	"0x24, 0x10\n"
	"	.byte 0x48, 0x8b, 0x6c, 0x24, 0x10, 0x48, 0x83, 0xc4, 0x18, 0xc3\n"
	/* main.pushed: push rbp; mov rbp, rsp; sub rsp, 16; add rsp, 16; pop rbp; ret; and once more behind it */
	"pushed: .byte 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0x48, 0x83, 0xc4, 0x10, "
	"0x5d, 0xc3, 0x90, 0x90\n"
	/* main.other: push rax; pop rax; ret */
	"other:	.byte 0x50, 0x58, 0xc3, 0xcc\n"
	/* main.aligns: push rbp; mov rbp, rsp; and rsp, -64; leave; ret, which is of no package that is known */
	"aligns: .byte 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xc0, 0xc9, 0xc3\n"
	/* runtime.clock: the same, of the runtime, with a frame: push rbp; mov rbp, rsp; sub rsp, 16; mov rsp, rdx; add rsp, 16; pop rbp; ret */
	"clock:	.byte 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0xd4, 0x48, "
	"0x83, 0xc4, 0x10, 0x5d, 0xc3\n"
	"goexit: .byte 0x90, 0xc3, 0xcc\n"
	"sigret: .byte 0x0f, 0x05, 0xcc\n"
	/* asmcgocall: mov rdx, rsp; mov rsp, [rsi + 56]; sub rsp, 16; mov [rsp + 8], rdi; mov rdi, [rdi + 8]; sub rdi, rdx; mov [rsp], rdi;
	 * call rax; mov rsp, rsi; ret; sub rsp, 16; and rsp, -16; mov [rsp], rdx; call rax; mov rsp, rsi; ret */
	"cgo:	.byte 0x48, 0x89, 0xe2, 0x48, 0x8b, 0x66, 0x38, 0x48, 0x83, 0xec, 0x10, 0x48, "
	"0x89, 0x7c, 0x24, 0x08\n"
	"	.byte 0x48, 0x8b, 0x7f, 0x08, 0x48, 0x29, 0xd7, 0x48, 0x89, 0x3c, 0x24, 0xff, "
	"0xd0, 0x48, 0x89, 0xf4, 0xc3\n"
	"	.byte 0x48, 0x83, 0xec, 0x10, 0x48, 0x83, 0xe4, 0xf0, 0x48, 0x89, 0x14, 0x24, "
	"0xff, 0xd0, 0x48, 0x89, 0xf4, 0xc3\n"
	/* no table tells of it */
	"silent: .byte 0x90, 0x90, 0x90, 0xc3\n"
	/* systemstack: mov rsp, rbx; call rdi; mov rsp, [rax + 56]; ret */
	"system: .byte 0x48, 0x89, 0xdc, 0xff, 0xd7, 0x48, 0x8b, 0x60, 0x38, 0xc3\n"
	/* asmcgocall of Go 1.21: push rbp; mov rbp, rsp; mov rdx, rsp; mov rsp, [rsi + 56]; sub rsp, 64; mov [rsp + 48], rdi; mov rdi, [rdi + 8];
	 * sub rdi, rdx; mov [rsp + 40], rdi; call rax; mov rsp, rsi; pop rbp; ret; sub rsp, 64; and rsp, -16; mov [rsp + 40], rdx; call rax;
	 * mov rsp, rsi; pop rbp; ret */
	"cgo21:	.byte 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xe2, 0x48, 0x8b, 0x66, 0x38, 0x48, "
	"0x83, "
	"0xec, 0x40, 0x48, 0x89, 0x7c, 0x24, 0x30\n"
	"	.byte 0x48, 0x8b, 0x7f, 0x08, 0x48, 0x29, 0xd7, 0x48, 0x89, 0x7c, 0x24, 0x28, "
	"0xff, 0xd0, 0x48, 0x89, 0xf4, 0x5d, 0xc3\n"
	"	.byte 0x48, 0x83, 0xec, 0x40, 0x48, 0x83, 0xe4, 0xf0, 0x48, 0x89, 0x54, 0x24, "
	"0x28, "
	"0xff, 0xd0, 0x48, 0x89, 0xf4, 0x5d, 0xc3\n"
	/* systemstack: push rbp; mov rbp, rsp; mov rsp, rbx; call rdi; mov rsp, [rax + 56]; pop rbp; ret; pop rbp; jmp rdi; int3 */
	"system21: .byte 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xdc, 0xff, 0xd7, 0x48, 0x8b, 0x60, "
	"0x38, 0x5d, 0xc3, 0x5d, 0xff, 0xe7, 0xcc\n"
	/* asmcgocall_no_g: push rbp; mov rbp, rsp; sub rsp, 32; mov rdx, rsp; and rsp, -16; mov [rsp + 8], rdx; call rax; mov rsp, rdx;
	 * add rsp, 32; pop rbp; ret */
	"no_g21: .byte 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0x48, 0x89, 0xe2, 0x48, "
	"0x83, "
	"0xe4, 0xf0, 0x48, 0x89, 0x54, 0x24, 0x08\n"
	"	.byte 0xff, 0xd0, 0x48, 0x89, 0xd4, 0x48, 0x83, 0xc4, 0x20, 0x5d, 0xc3\n"
	"etext_go: .fill 32, 1, 0xcc\n"
	"main:	xor %eax, %eax; ret\n"
	/* crosscall1, of which no table tells */
	"	push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"	.byte 0x48, 0x89, 0xfb, 0x48, 0x89, 0xd7; call *%rsi; call *%rbx\n"
	"	pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n"
	"#ifdef MERGED\n"
	".section .rodata.go, \"aw\", @progbits\n"
	".section .go.buildinfo, \"a\", @progbits; .quad 0\n"
	".section .rodata.go, \"aw\", @progbits\n"
	"#else\n"
	".section .gopclntab, \"aw\", @progbits\n"
	"#endif\n"
	"	.balign 32\n"
	"table:\n"
	"#if GO == 12\n"
	"	.long 0xfffffffb; .byte 0, 0, 1, 8; .quad 13\n"
	"#elif GO == 116\n"
	"	.long 0xfffffffa; .byte 0, 0, 1, 8; .quad 13\n"
	"	.quad 1, names - table, 0, 0, steps - table, functions - table\n"
	"#else\n"
	"#if GO == 118\n"
	"	.long 0xfffffff0; .byte 0, 0, 1, 8; .quad 13\n"
	"#else\n"
	"	.long 0xfffffff1; .byte 0, 0, 1, 8; .quad 13\n"
	"#endif\n"
	"	.quad 1, text, names - table, 0, 0, steps - table, functions - table\n"
	"#endif\n"
	"functions: ENTRY 0, stored; ENTRY 1, pushed; ENTRY 2, other; ENTRY 3, aligns; ENTRY 4, "
	"clock; ENTRY 5, goexit\n"
	"	ENTRY 6, sigret; ENTRY 7, cgo; ENTRY 8, silent; ENTRY 9, system\n"
	"	ENTRY 10, cgo21; ENTRY 11, system21; ENTRY 12, no_g21; ENTRY 13, etext_go\n"
	"f13:	.balign 8\n"
	"	FUNC 0, stored, 0; FUNC 1, pushed, 0; FUNC 2, other, 4; FUNC 3, aligns, 6; FUNC 4, "
	"clock, 6; FUNC 5, goexit, 1\n"
	"	FUNC 6, sigret, 0; FUNC 7, cgo, 6; FUNC 8, silent, 0; FUNC 9, system, 6\n"
	"	FUNC 10, cgo21, 6; FUNC 11, system21, 6; FUNC 12, no_g21, 6\n"
	"#if GO == 12\n"
	".set names, table; .set steps, table\n"
	"	.byte 0\n"
	"#else\n"
	"names:	.byte 0\n"
	"#endif\n"
	"n0: .asciz \"main.stored\"\n n1: .asciz \"main.pushed\"\n n2: .asciz \"main.other\"\n n3: "
	".asciz \"main.aligns\"\n"
	"n4: .asciz CLOCK\n n5: .asciz \"runtime.goexit\"\n n6: .asciz \"runtime.sigreturn\"\n"
	"n7: .asciz \"runtime.asmcgocall\"\n n8: .asciz \"main.silent\"\n n9: .asciz "
	"\"runtime.systemstack\"\n"
	"n10: .asciz \"runtime.asmcgocall\"\n n11: .asciz \"runtime.systemstack\"\n n12: .asciz "
	"\"runtime.asmcgocall_no_g\"\n"
	"#if GO != 12\n"
	"steps:	.byte 0\n"
	"#endif\n"
	/* A change of depth (times two; one less below zero; at first from -1 on), then for how many bytes. */
	"s0: .byte 2, 4, 48, 19, 47, 1, 0\n"
	"s1: .byte 2, 1, 16, 7, 32, 4, 31, 1, 15, 1, 48, 2, 0\n"
	"s2: .byte 2, 1, 16, 1, 15, 1, 0\n"
	"s3: .byte 2, 1, 16, 8, 15, 1, 0\n"
	"s4: .byte 2, 1, 16, 7, 32, 7, 31, 1, 15, 1, 0\n"
	"s5: .byte 2, 2, 0\n"
	"s6: .byte 2, 3, 0\n"
	"s7: .byte 2, 51, 0\n"
	"s9: .byte 2, 10, 0\n"
	"s10: .byte 2, 1, 16, 58, 0\n"
	"s11: .byte 2, 1, 16, 18, 0\n"
	"s12: .byte 2, 1, 16, 7, 64, 21, 63, 1, 15, 1, 0\n"
	".set s8, steps\n"
	".section .note.GNU-stack, \"\", @progbits\n";

static const struct {
	u32 at; /* from the first function on */
	const char *rule;
} expected[] = {
	{0, "rsp+8 rbx lost"},
	{4, "rsp+32 rbx lost"},
	{9, "rsp+32 rbp=cfa-16 rbx lost"},
	{22, "rsp+32 rbp=cfa-16 rbx lost"},
	{23, "rsp+8 rbx lost"},
	/* pushed */
	{24, "rsp+8 rbx lost"},
	{25, "rsp+16 rbp=cfa-16 rbx lost"},
	{32, "rsp+32 rbp=cfa-16 rbx lost"},
	{36, "rsp+16 rbp=cfa-16 rbx lost"},
	{37, "rsp+8 rbx lost"},
	{38, "rsp+32 rbp=cfa-16 rbx lost"},
	/* other */
	{40, "rsp+8 rbx lost"},
	{41, "rsp+16 rbp lost rbx lost"},
	{42, "rsp+8 rbx lost"},
	/* clock, goexit, sigreturn from a byte before it on */
	{54, "rsp+8 rbx lost"},
	{55, "rsp+16 rbp=cfa-16 rbx lost"},
	{62, "rbp+16 elsewhere rbp=cfa-16 rbx lost"},
	{65, "rsp+32 rbp=cfa-16 rbx lost"},
	{69, "rsp+16 rbp=cfa-16 rbx lost"},
	{70, "rsp+8 rbx lost"},
	{71, "end"},
	{72, "end"},
	{73, "signal"},
	{74, "signal"},
	/* asmcgocall */
	{77, "rsp+8 rbx lost"},
	{83, "rsp+8 rbx lost"},
	{84, "unsupported"},
	{103, "unsupported"},
	{104, "goroutine at rsp+8, rsp+0 rbx lost"},
	{106, "goroutine at rsp+8, rsp+0 rbx lost"},
	{109, "rsp+8 rbx lost"},
	{114, "r1+8 rbx lost"},
	{122, "*(rsp+0)+8 rbx lost"},
	{127, "rsp+8 rbx lost"},
	/* systemstack */
	{132, "rsp+8 rbx lost"},
	{135, "rbp+16 elsewhere rbp=cfa-16 rbx lost"},
	{141, "rsp+8 rbx lost"},
	/* asmcgocall with a frame */
	{142, "rsp+8 rbx lost"},
	{143, "rsp+16 rbp=cfa-16 rbx lost"},
	{152, "rsp+16 rbp=cfa-16 rbx lost"},
	{153, "rbp+16 elsewhere rbp=cfa-16 rbx lost"},
	{173, "rbp+16 elsewhere rbp=cfa-16 rbx lost"},
	{174, "goroutine at rsp+48, rsp+40 rbp=cfa-16 rbx lost"},
	{176, "goroutine at rsp+48, rsp+40 rbp=cfa-16 rbx lost"},
	{179, "rsp+16 rbp=cfa-16 rbx lost"},
	{180, "rsp+8 rbx lost"},
	{181, "rsp+16 rbp=cfa-16 rbx lost"},
	{185, "r1+16 rbp=cfa-16 rbx lost"},
	{194, "*(rsp+40)+16 rbp=cfa-16 rbx lost"},
	{199, "rsp+16 rbp=cfa-16 rbx lost"},
	{200, "rsp+8 rbx lost"},
	/* systemstack with a frame */
	{201, "rsp+8 rbx lost"},
	{202, "rsp+16 rbp=cfa-16 rbx lost"},
	{208, "rbp+16 elsewhere rbp=cfa-16 rbx lost"},
	{214, "rsp+16 rbp=cfa-16 rbx lost"},
	{215, "rsp+8 rbx lost"},
	{216, "rsp+16 rbp=cfa-16 rbx lost"},
	{217, "rsp+8 rbx lost"},
	{219, "rsp+16 rbp=cfa-16 rbx lost"},
	/* asmcgocall_no_g with a frame */
	{220, "rsp+8 rbx lost"},
	{224, "rsp+16 rbp=cfa-16 rbx lost"},
	{228, "rbp+16 elsewhere rbp=cfa-16 rbx lost"},
	{242, "rbp+16 elsewhere rbp=cfa-16 rbx lost"},
	{245, "rsp+48 rbp=cfa-16 rbx lost"},
	{249, "rsp+16 rbp=cfa-16 rbx lost"},
	{250, "rsp+8 rbx lost"},
	/* crosscall1 */
	{286, "rsp+8"},
	{287, "rsp+16 rbx=cfa-16"},
	{296, "rsp+56 rbp=cfa-24 rbx=cfa-16"},
	{306, "rsp+56 rbp=cfa-24 rbx=cfa-16"},
	{308, "rsp+48 rbp=cfa-24 rbx=cfa-16"},
	{315, "rsp+16 rbx=cfa-16"},
	{316, "rsp+8"},
};

static void check_rules(const char *how, u64 text, const struct elf_unwind_rows *rows)
{
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		char shown[96], found[200], wanted[200];

		show_rule(shown, elf_unwind_rows_find(rows, text + expected[i].at));
		snprintf(found, sizeof(found), "%s at %u: %s", how, expected[i].at, shown);
		snprintf(wanted, sizeof(wanted), "%s at %u: %s", how, expected[i].at,
			 expected[i].rule);
		CHECK_STRING(found, wanted);
	}
}

static u64 symbol_of(int fd, const char *name)
{
	const char *const names[] = {name};
	struct elf_file *elf = NULL;
	u64 address = 0;

	if (!elf_file_open(fd, "made", &elf, NULL))
		elf_file_static_symbols(elf, names, 1, &address);
	elf_file_free(elf);
	return address;
}

static void check_layout(const char *layout, const char *how)
{
	/* Before Go 1.17 only the names tell who writes the stack pointer. */
	const char *clock = atoi(layout) <= 116 ? "runtime.nanotime1" : "runtime.clock";
	struct elf_unwind_rows rows;
	char path[SCRATCH_PATH_BYTES];
	int fd;

	CHECK(shell("gcc %s -DGO=%s '-DCLOCK=\"%s\"' -o go go.S", how, layout, clock));
	fd = open(in_folder(path, "go"), O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	if (fd >= 0 && read_rows_of(fd, &rows)) {
		char words[64];

		snprintf(words, sizeof(words), "%s %s", layout, how);
		check_rules(words, symbol_of(fd, "stored"), &rows);
		elf_unwind_rows_free(&rows);
	}
	if (fd >= 0)
		close(fd);
}

TEST(rules_of_each_layout)
{
	static const char *const layouts[] = {"12", "116", "118", "120"};
	static const char *const ways[] = {"-no-pie", "-pie -fPIE", "-pie -fPIE -DMERGED"};

	if (system("gcc --version >/dev/null 2>&1"))
		SKIP("no gcc");
	write_file("go.S", source);
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		for (size_t j = 0; j < ARRAY_SIZE(ways); j++)
			check_layout(layouts[i], ways[j]);
}

/* Stacks lead through functions without a row there too: libgmp has some. */
TEST(file_that_is_none_of_go_s)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_go_rows rows;
	struct unwind_rule rule;
	struct elf_file *elf;

	CHECK(fd >= 0 && !elf_file_open(fd, "this", &elf, NULL));
	CHECK_U64(elf_go_rows_open(elf, &rows), 0);
	CHECK_U64(elf_go_rows_count(&rows), 0);
	CHECK(!elf_go_rows_find(&rows, 0x1000, &rule));
	CHECK(!elf_go_rows_find(&rows, 0, &rule));
	elf_go_rows_close(&rows);
	elf_file_free(elf);
	close(fd);
}

UNIT_MAIN()
