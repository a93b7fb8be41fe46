/* SPDX-License-Identifier: GPL-2.0-or-later */
/* answer() is 1, and 2 once change() has written a jump over it; then it changes the protection of the page behind it. */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int answer(void);
void hook(void);
int change(void);

__asm__(".text\n.balign 8192\n.globl answer\n.type answer, @function\nanswer: push %rbx\nmovl $1, "
	"%eax\npop %rbx\nret\n"
	".size answer, . - answer\n.balign 8192\n.hidden hook\n.globl hook\nhook: movl $2, "
	"%eax\nret\n.balign 4096\n");

static int protect(uint8_t *begin, int protection)
{
	return mprotect(begin, (size_t)sysconf(_SC_PAGESIZE), protection);
}

int change(void)
{
	uint8_t *code = (uint8_t *)answer, *next = code + sysconf(_SC_PAGESIZE);
	int32_t distance = (int32_t)((uint8_t *)hook - (code + 5));

	if (protect(code, PROT_READ | PROT_WRITE | PROT_EXEC))
		return 1;
	memcpy(code + 1, &distance, 4);
	code[0] = 0xe9;
	return protect(code, PROT_READ | PROT_EXEC) ||
	       protect(next, PROT_READ | PROT_WRITE | PROT_EXEC) ||
	       protect(next, PROT_READ | PROT_EXEC);
}
