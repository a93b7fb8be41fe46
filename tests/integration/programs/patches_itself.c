/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Has another instruction in its memory than its file has, as programs with hooks or live patches do: patched() returns 1 by the
 * file and 2 in fact; with an argument it does not. Beside it plain() and long_nop(), which begin with what the kernel does without and with a call of its own.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "protocol.h"

#define CALLS	1000
#define TURNS	2
#define OPERAND 1 /* of mov $n,%eax: where n is */

int patched(void), plain(void), long_nop(void), behind(void);

__asm__(".text\n.globl patched, plain, long_nop, behind\n"
	".type patched, @function\npatched: movl $1, %eax\nret\n.size patched, . - patched\n"
	".type plain, @function\nplain: push %rbx\nmovl $3, %eax\npop %rbx\nret\n.size plain, . - "
	"plain\n"
	".type long_nop, @function\nlong_nop: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00\nmovl $4, "
	"%eax\nret\n"
	".size long_nop, . - long_nop\n.p2align 6\n"
	".type behind, @function\nbehind: endbr64\npush %rbx\npop %rbx\nmovl $5, %eax\nret\n.size "
	"behind, . - "
	"behind\n");

static void patch(void)
{
	uint8_t *code = (uint8_t *)patched;
	long page = sysconf(_SC_PAGESIZE);
	void *begin = (void *)((uintptr_t)code & -page);

	if (mprotect(begin, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC))
		exit(2);
	code[OPERAND] = 2;
	/* A jump to its movl, past the push that is probed. */
	memcpy((void *)behind, "\xeb\x04", 2);
	if (mprotect(begin, 2 * page, PROT_READ | PROT_EXEC))
		exit(2);
}

int main(int argc, char **argv)
{
	unsigned long failures = 0;

	(void)argv;
	if (argc == 1)
		patch();
	protocol_begin();
	for (int turn = 0; turn < TURNS; turn++) {
		for (int i = 0; i < CALLS; i++)
			failures += (patched() != 2) + (plain() != 3) + (long_nop() != 4) +
				    (behind() != 5);
		protocol_count("plain", CALLS);
		protocol_count("long_nop", CALLS);
		protocol_count("failures", failures);
		protocol_done();
		if (!protocol_next())
			return 0;
	}
	return 0;
}
