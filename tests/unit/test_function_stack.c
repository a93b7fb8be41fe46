/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What functions do with their stacks: pieces of code by hand, and functions of real files, of which their unwind tables say the same. */
#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "code/function_stack.h"
#include "unwind_file.h"

#define START 0x401000ULL

struct piece {
	const char *code;
	u32 at;
	const char *rule;
};

static const struct piece pieces[] = {
	/* ret */
	{"c3", 0, "rsp+8"},
	/* push rbp; mov rbp,rsp; push rbx; sub rsp,24; call; leave; ret */
	{"55 4889e5 53 4883ec18 e800000000 90 c9 c3", 0, "rsp+8"},
	{"55 4889e5 53 4883ec18 e811000000 90 c9 c3", 1, "rsp+16"},
	{"55 4889e5 53 4883ec18 e811000000 90 c9 c3", 4, "rbp+16 rbp=cfa-16"},
	{"55 4889e5 53 4883ec18 e811000000 90 c9 c3", 9, "rbp+16 rbp=cfa-16"},
	{"55 4889e5 53 4883ec18 e811000000 90 c9 c3", 16, "rsp+8"},
	/* push rbp; push rbx; sub rsp,8; xor ebp,ebp; add rsp,8; pop rbx; pop rbp; ret */
	{"55 53 4883ec08 31ed 4883c408 5b 5d c3", 6, "rsp+32"},
	{"55 53 4883ec08 31ed 4883c408 5b 5d c3", 12, "rsp+24 rbp=cfa-16"},
	{"55 53 4883ec08 31ed 4883c408 5b 5d c3", 14, "rsp+8"},
	/* MKL's way: sub rsp,128; mov [rsp],rbx; mov [rsp+8],rbp; lea rbp,[rbx+r11*2]; mov rbp,[rsp+8]; add rsp,128; ret */
	{"4881ec80000000 48891c24 48896c2408 4a8d2c5b 488b6c2408 4881c480000000 c3", 7, "rsp+136"},
	{"4881ec80000000 48891c24 48896c2408 4a8d2c5b 488b6c2408 4881c480000000 c3", 20,
	 "rsp+136 rbp=cfa-128"},
	{"4881ec80000000 48891c24 48896c2408 4a8d2c5b 488b6c2408 4881c480000000 c3", 25, "rsp+136"},
	{"4881ec80000000 48891c24 48896c2408 4a8d2c5b 488b6c2408 4881c480000000 c3", 32, "rsp+8"},
	/* Rounded down: mov rax,rsp; and rsp,-64; sub rsp,128; mov [rsp+64],rax; call; mov rsp,[rsp+64]; ret */
	{"4889e0 4883e4c0 4881ec80000000 4889442440 e811000000 488b642440 c3", 7, "r0+8"},
	{"4889e0 4883e4c0 4881ec80000000 4889442440 e811000000 488b642440 c3", 19, "*(rsp+64)+8"},
	{"4889e0 4883e4c0 4881ec80000000 4889442440 e811000000 488b642440 c3", 24, "*(rsp+64)+8"},
	{"4889e0 4883e4c0 4881ec80000000 4889442440 e811000000 488b642440 c3", 29, "rsp+8"},
	/* push rbp; mov rbp,rsp; and rsp,-32; leave; ret */
	{"55 4889e5 4883e4e0 c9 c3", 8, "rbp+16 rbp=cfa-16"},
	{"55 4889e5 4883e4e0 c9 c3", 9, "rsp+8"},
	/* In another register: mov rbx,rsp; and rsp,-32; call; mov rsp,rbx; ret */
	{"4889e3 4883e4e0 e811000000 4889dc c3", 12, "rbx+8 rbx lost"},
	/* Where am I: call next; pop rax; ret */
	{"e800000000 58 c3", 5, "rsp+16"},
	{"e800000000 58 c3", 6, "rsp+8"},
	/* test edi,edi; je +3; push rax; pop rcx; ret: two ways that agree, and one that does not */
	{"85ff 7402 50 59 c3", 6, "rsp+8"},
	{"85ff 7401 50 c3 90", 5, "none"},
	/* An early exit: test edi,edi; je; push rbx; ...; pop rbx; ret; what a jump leads to: ret */
	{"85ff 7404 53 90 5b c3 c3", 5, "rsp+16"},
	{"85ff 7404 53 90 5b c3 c3", 8, "rsp+8"},
	/* sub rsp,8; jmp *[rax*8+...]; what only the table leads to: add rsp,8; ret */
	{"4883ec08 ff24c500100000 4883c408 c3", 11, "rsp+16"},
	{"4883ec08 ff24c500100000 4883c408 c3", 15, "rsp+8"},
	/* Nothing leads there, and it is no padding. */
	{"c3 4889e0 4883e4c0 4881ec80000000 4889442440 488b642440", 8, "none"},
	/* What is behind it, up to 15 bytes, is padding. */
	{"53 5b c3 cccccccccc", 6, "rsp+8"},
	/* rsp from elsewhere: mov rsp,[rdi]; ret */
	{"488b27 c3", 3, "none"},
	/* As V8's: pop rax; push rdi; push rax; push rbp; mov rbp,rsp; call; leave; ret: the return address is in rax, and then lower. */
	{"58 57 50 55 4889e5 e811000000 c9 c3", 1, "none"},
	{"58 57 50 55 4889e5 e811000000 c9 c3", 2, "none"},
	{"58 57 50 55 4889e5 e811000000 c9 c3", 3, "rsp+8"},
	{"58 57 50 55 4889e5 e811000000 c9 c3", 4, "rsp+16"},
	{"58 57 50 55 4889e5 e811000000 c9 c3", 7, "rbp+16 rbp=cfa-16"},
	{"58 57 50 55 4889e5 e811000000 c9 c3", 13, "rsp+8"},
	/* pop rax; push rbp; mov rbp,rsp; call: what stands where the return address was is the caller's rbp. */
	{"58 55 4889e5 e811000000 50 c3", 5, "none"},
	/* sub rsp,rax: an array; by its frame pointer it is found. */
	{"4829c4 90 c3", 3, "none"},
	{"55 4889e5 4829c4 90 c9 c3", 7, "rbp+16 rbp=cfa-16"},
};

static size_t put(u8 *bytes, const char *hex)
{
	size_t count = 0;
	unsigned value;

	for (; *hex; hex++) {
		if (isspace((unsigned char)*hex))
			continue;
		sscanf(hex++, "%2x", &value);
		bytes[count++] = (u8)value;
	}
	return count;
}

static const struct unwind_rule *rule_at(const struct function_stack *stack, u64 address)
{
	size_t at = stack->count;

	while (at > 1 && stack->items[at - 1].address > address)
		at--;
	return &stack->items[at - 1].rule;
}

TEST(pieces_of_code)
{
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		struct function_stack stack = {0};
		struct err err = {0};
		char text[96];
		u8 bytes[64];
		size_t size = put(bytes, pieces[i].code);

		CHECK_OK(function_stack_read(bytes, size, START, &stack, &err), err);
		if (!stack.count)
			continue;
		CHECK_U64(stack.items[0].address, START);
		show_rule(text, rule_at(&stack, START + pieces[i].at));
		if (strcmp(text, pieces[i].rule) != 0)
			UNIT_FAIL("%s: at %u \"%s\", expected \"%s\"", pieces[i].code, pieces[i].at,
				  text, pieces[i].rule);
		function_stack_free(&stack);
	}
}

/* A piece of an interpreter works in the frame of what jumped to it. */
TEST(what_is_no_function_is_refused)
{
	static const char *const refused[] = {
		"488b45f8 c3",	   /* mov rax,[rbp-8] */
		"31c0 ffe1",	   /* xor eax,eax; jmp rcx */
		"4883c408 ff6040", /* jmp [rax+64] */
	};
	struct function_stack stack = {0};
	u8 bytes[64];

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		CHECK(function_stack_read(bytes, put(bytes, refused[i]), START, &stack, NULL) ==
		      -ENOTSUP);
	CHECK(function_stack_read(bytes, 0, START, &stack, NULL) == -ENOTSUP);
	function_stack_free(&stack);
}

/* Whatever bytes it is given it ends, and its rows are in order. */
TEST(any_bytes)
{
	u64 state = 1;
	u8 bytes[256];

	for (int i = 0; i < 20000; i++) {
		struct function_stack stack = {0};

		for (size_t at = 0; at < sizeof(bytes); at++) {
			state = state * 6364136223846793005ULL + 1442695040888963407ULL;
			bytes[at] = (u8)(state >> 56);
		}
		if (!function_stack_read(bytes, 1 + i % sizeof(bytes), START, &stack, NULL)) {
			CHECK_U64(stack.items[0].address, START);
			for (size_t row = 1; row < stack.count; row++)
				CHECK(stack.items[row].address > stack.items[row - 1].address);
		}
		function_stack_free(&stack);
	}
}

/* ---- real files ---- */

struct comparison {
	u64 same, other,
		unknown; /* bytes of code; by another register, which may be as right, is none of them */
};

static bool is_same(const struct unwind_rule *ours, const struct unwind_rule *theirs)
{
	return ours->cfa == theirs->cfa && ours->cfa_offset == theirs->cfa_offset &&
	       ours->words == theirs->words;
}

static void compare(const struct elf_file *elf, const struct elf_unwind_rows *rows,
		    const struct elf_extent *function, struct comparison *comparison)
{
	struct function_stack stack = {0};
	_cleanup_free_ u8 *bytes = malloc(function->size_bytes);

	if (elf_file_read_address(elf, function->address, bytes, function->size_bytes) !=
		    function->size_bytes ||
	    function_stack_read(bytes, function->size_bytes, function->address, &stack, NULL)) {
		comparison->unknown += function->size_bytes;
		return;
	}
	for (u64 at = 0; at < function->size_bytes; at++) {
		const struct unwind_rule *ours = rule_at(&stack, function->address + at);
		const struct unwind_rule *theirs =
			elf_unwind_rows_find(rows, function->address + at);

		if (ours->cfa == UNWIND_CFA_NONE)
			comparison->unknown++;
		else if (is_same(ours, theirs))
			comparison->same++;
		else if (ours->cfa == theirs->cfa)
			comparison->other++;
	}
	function_stack_free(&stack);
}

static void compare_file(const char *path, double most_other, double most_unknown)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct comparison comparison = {0};
	struct elf_extent *functions = NULL;
	struct elf_unwind_rows rows;
	struct elf_file *elf;
	ssize_t count;
	double all;

	if (fd < 0 || elf_file_open(fd, path, &elf, NULL))
		return;
	if (read_rows_of(fd, &rows)) {
		count = elf_file_functions(elf, &functions);
		/* Some hundreds of them, spread over all. */
		for (ssize_t i = 0; i < count; i += 1 + count / 700)
			if (functions[i].size_bytes && functions[i].size_bytes < 1 << 16 &&
			    elf_unwind_rows_find(&rows, functions[i].address)->cfa ==
				    UNWIND_CFA_RSP)
				compare(elf, &rows, &functions[i], &comparison);
		all = (double)(comparison.same + comparison.other + comparison.unknown);
		printf("%s: %.0f bytes, %.2f %% other, %.2f %% unknown\n", path, all,
		       all ? 100.0 * (double)comparison.other / all : 0,
		       all ? 100.0 * (double)comparison.unknown / all : 0);
		CHECK((double)comparison.other <= most_other * all);
		CHECK((double)comparison.unknown <= most_unknown * all);
		elf_unwind_rows_free(&rows);
	}
	free(functions);
	elf_file_free(elf);
}

TEST(tables_of_real_files_say_the_same)
{
	/* What is behind a call that does not come back has the rule of what comes before it, if nothing else leads there; to landing
	 * pads nothing does. */
	compare_file("/lib/x86_64-linux-gnu/libc.so.6", 0.002, 0.1);
	compare_file("/lib/x86_64-linux-gnu/libcrypto.so.3", 0.002, 0.1);
	compare_file("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", 0.004, 0.25);
	compare_file("/usr/bin/python3", 0.002, 0.1);
	compare_file("/usr/bin/node", 0.002, 0.15);
	compare_file("/proc/self/exe", 0.002, 0.1);
}

UNIT_MAIN()
