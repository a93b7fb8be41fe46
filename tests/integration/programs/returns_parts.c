/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions whose code lies in more than one place, as a stripped file has it: the other places have no names (local labels leave
 * none), only unwind tables, and are far away. Each is called on both of its ways, with its result checked.
 */
#include "protocol.h"

#define ROUNDS 500

/* clang-format off */
#define FUNCTION(name, code)                                                          \
	__asm__(".text\n.p2align 4\n.type " #name ", @function\n"                     \
		#name ":\n.cfi_startproc\n" code "\n.cfi_endproc\n.size " #name ", . - " #name "\n")
#define PIECE(label, code) \
	__asm__(".section .text.unlikely\n" label ":\n.cfi_startproc\n" code "\n.cfi_endproc\n.text\n")
/* clang-format on */

#define IF_ODD(label) "test $1, %dil\n jne " label "\n"

/* The other place has the same frame, and returns. */
FUNCTION(keeps_frame, "sub $24, %rsp\n .cfi_adjust_cfa_offset 24\n" IF_ODD(
			      ".Lframe") "lea 1(%rdi), %rax\n add $24, %rsp\n "
					 ".cfi_adjust_cfa_offset -24\n ret");
PIECE(".Lframe", ".cfi_adjust_cfa_offset 24\n lea 2(%rdi), %rax\n add $24, %rsp\n "
		 ".cfi_adjust_cfa_offset -24\n ret");
/* It has no frame, and jumps back. */
FUNCTION(jumps_back, IF_ODD(".Lback") "lea 1(%rdi), %rax\n .Lbehind: ret");
PIECE(".Lback", "lea 3(%rdi), %rax\n jmp .Lbehind");
/* It has no frame, and returns; nobody else leads there. */
FUNCTION(returns_elsewhere, IF_ODD(".Lelsewhere") "lea 1(%rdi), %rax\n ret");
PIECE(".Lelsewhere", "lea 4(%rdi), %rax\n ret");
/* It is a function itself, which others call. */
FUNCTION(ends_by_jump, IF_ODD(".Lfunction") "lea 1(%rdi), %rax\n ret");
FUNCTION(calls_it, "sub $8, %rsp\n .cfi_adjust_cfa_offset 8\n call .Lfunction\n add $8, %rsp\n "
		   ".cfi_adjust_cfa_offset -8\n ret");
PIECE(".Lfunction", "lea 5(%rdi), %rax\n ret");
/* The other place has one more. */
FUNCTION(two_away, IF_ODD(".Laway") "lea 1(%rdi), %rax\n .Lhome: ret");
PIECE(".Laway", "test $2, %dil\n jne .Lfarther\n lea 6(%rdi), %rax\n jmp .Lhome");
PIECE(".Lfarther", "lea 7(%rdi), %rax\n jmp .Lhome");

extern long keeps_frame(long), jumps_back(long), returns_elsewhere(long), ends_by_jump(long),
	calls_it(long), two_away(long);

int main(void)
{
	static const char *const names[] = {"keeps_frame",  "jumps_back", "returns_elsewhere",
					    "ends_by_jump", "calls_it",	  "two_away"};
	unsigned long failures = 0;

	protocol_begin();
	for (long i = 0; i < ROUNDS; i++) {
		failures += keeps_frame(i) != i + 1 + (i & 1);
		failures += jumps_back(i) != i + 1 + (i & 1) * 2;
		failures += returns_elsewhere(i) != i + 1 + (i & 1) * 3;
		failures += ends_by_jump(i) != i + 1 + (i & 1) * 4;
		failures += calls_it(i) != i + 5;
		failures += two_away(i) != i + (i & 1 ? (i & 2 ? 7 : 6) : 1);
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		protocol_count(names[i], ROUNDS);
	protocol_count("failures", failures);
	protocol_done();
	return 0;
}
