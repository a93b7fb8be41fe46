/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A function of 64 bytes whose unwind table says where the caller is by what a pointer to a pointer on the stack points to. */
#include "protocol.h"

__asm__(".text\n"
	".p2align 4\n"
	".type unfollowed, @function\n"
	"unfollowed:\n"
	"	.cfi_startproc\n"
	/* DW_CFA_def_cfa_expression: DW_OP_breg7 0, DW_OP_deref, DW_OP_deref */
	"	.cfi_escape 0x0f, 4, 0x77, 0, 0x06, 0x06\n"
	"	.fill 63, 1, 0x90\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size unfollowed, .-unfollowed\n");

int main(void)
{
	protocol_begin();
	protocol_end();
	return 0;
}
