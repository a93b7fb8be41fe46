/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * USDT probes on nops of five bytes, which some kernels turn into calls: in a function that keeps numbers below its stack
 * pointer, and in one that calls others. Prints how often each was called, and how many results were wrong.
 */
#include <sys/sdt.h>

#include "protocol.h"

/* clang-format off */
#undef _SDT_NOP
#define _SDT_NOP nopw 8(%%rax)
/* clang-format on */

#define ROUNDS 2000

static unsigned long wrong;

/* Built with -O2 for a leaf: what is volatile goes below the stack pointer. */
PROBED __attribute__((optimize("O2"))) long leaf(long a)
{
	volatile long kept[4] = {a, a + 1, a + 2, a + 3};

	STAP_PROBE1(long_nop, leaf, a);
	return kept[0] + kept[1] + kept[2] + kept[3];
}

PROBED long inner(long a)
{
	return a * 2;
}

PROBED long caller(long a)
{
	volatile long kept = inner(a);

	STAP_PROBE1(long_nop, caller, a);
	return kept;
}

int main(void)
{
	protocol_begin();
	for (long i = 0; i < ROUNDS; i++) {
		wrong += leaf(i) != 4 * i + 6;
		wrong += caller(i) != 2 * i;
	}
	protocol_count("leaf", ROUNDS);
	protocol_count("caller", ROUNDS);
	protocol_count("wrong", wrong);
	protocol_end();
	return 0;
}
