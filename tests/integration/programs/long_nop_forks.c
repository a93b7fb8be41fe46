/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that begin with a nop of five bytes, called here and in children of fork(): each child must end with 0. */
#include <sys/wait.h>

#include "protocol.h"

#define ROUNDS	 10
#define CHILDREN 20
#define NOP	 ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"

#define FUNCTION(name, code)                                                             \
	".globl " name "\n.type " name ", @function\n" name ":\n" NOP code ".size " name \
	", . - " name "\n.p2align 4\n"

__asm__(".text\n.p2align 4\n" FUNCTION("nop_push", "push %rbx\npop %rbx\nlea 1(%rdi), %eax\nret\n")
		FUNCTION("nop_lea", "lea 1(%rdi), %eax\nret\n"));

int nop_push(int number), nop_lea(int number);

static int is_right(int number)
{
	return nop_push(number) == number + 1 && nop_lea(number) == number + 1;
}

int main(void)
{
	protocol_begin();
	do {
		unsigned wrong = 0, died = 0;

		for (unsigned child = 0; child < CHILDREN; child++) {
			int status = 0;
			pid_t pid;

			for (int i = 0; i < ROUNDS; i++)
				wrong += !is_right(i);
			pid = fork();
			if (!pid)
				_exit(!is_right(1));
			waitpid(pid, &status, 0);
			died += status != 0;
		}
		protocol_count("nop_push", CHILDREN * ROUNDS);
		protocol_count("nop_lea", CHILDREN * ROUNDS);
		protocol_count("wrong", wrong);
		protocol_count("died", died);
		protocol_done();
	} while (protocol_next());
	return 0;
}
