/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library of which the code is written to when it is loaded (DT_TEXTREL): adds 1 to a number, by its absolute address. */
long number_of_bumps;

__asm__(".text\n.globl bump\n.type bump, @function\n"
	"bump: movabs $number_of_bumps, %rax\naddq $1, (%rax)\nret\n.size bump, . - bump\n");
