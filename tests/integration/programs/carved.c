/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fiber whose stack is an array in main, that is a part of the thread's own stack: a call on it looks like any
 * other. It switches inside probed calls, which return in another order than they began.
 */
#include <ucontext.h>

#include "protocol.h"

#define ROUNDS 200

static ucontext_t home, fiber;
static volatile long sink;

PROBED long leaf(long value)
{
	sink += value;
	return value + 1;
}

PROBED void switches_back(void)
{
	sink++;
	swapcontext(&fiber, &home);
	sink++;
}

static void fiber_main(void)
{
	for (;;) {
		leaf(1);
		switches_back();
	}
}

PROBED long resume(void)
{
	swapcontext(&home, &fiber);
	return leaf(1);
}

int main(void)
{
	char stack[65536];
	long right = 0;

	protocol_begin();
	getcontext(&fiber);
	fiber.uc_stack.ss_sp = stack;
	fiber.uc_stack.ss_size = sizeof(stack);
	makecontext(&fiber, fiber_main, 0);
	for (int i = 0; i < ROUNDS; i++)
		right += resume() == 2;
	protocol_count("leaf", 2 * ROUNDS);
	protocol_count("resume", right);
	protocol_end();
	return 0;
}
