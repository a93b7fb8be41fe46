/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Catches SIGTRAP; with an argument its code of f() can be written to ("writable"), or has a breakpoint of its own, whose instruction its
 * handler does. Each turn is 1,000 calls of
 * f() and plain(), and says how often the handler ran.
 */
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "protocol.h"

#define CALLS	   1000
#define BREAKPOINT 0xcc

int plain(void), f(void);
__asm__(".text\n.balign 4096\n.globl plain\n.type plain, @function\nplain: push %rbx\nmovl $1, "
	"%eax\npop %rbx\nret\n"
	".size plain, . - plain\n.balign 4096\n.globl f\n.type f, @function\nf: push %rbx\nmovl "
	"$1, %eax\npop %rbx\nret\n"
	".size f, . - f\n.balign 4096\n");

static volatile unsigned long traps;

static void push(int number, siginfo_t *info, void *data)
{
	greg_t *registers = ((ucontext_t *)data)->uc_mcontext.gregs;

	(void)number;
	(void)info;
	if (registers[REG_RIP] != (greg_t)(uintptr_t)f + 1)
		_exit(9);
	registers[REG_RSP] -= 8;
	*(greg_t *)registers[REG_RSP] = registers[REG_RBX];
	traps++;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = push, .sa_flags = SA_SIGINFO};

	sigaction(SIGTRAP, &action, NULL);
	if (argc > 1) {
		if (mprotect((void *)f, 4096, PROT_READ | PROT_WRITE | PROT_EXEC))
			return 2;
		*(uint8_t *)f = strcmp(argv[1], "writable") ? BREAKPOINT : *(uint8_t *)f;
		if (strcmp(argv[1], "writable") && mprotect((void *)f, 4096, PROT_READ | PROT_EXEC))
			return 2;
	}
	protocol_begin();
	do {
		unsigned long wrong = 0;

		traps = 0;
		for (int i = 0; i < CALLS; i++)
			wrong += plain() != 1 || f() != 1;
		protocol_count("wrong", wrong);
		protocol_count("traps", traps);
		protocol_done();
	} while (protocol_next());
	return 0;
}
