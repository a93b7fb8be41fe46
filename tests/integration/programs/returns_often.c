/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls small functions and nothing else: where they are probed it is mostly on its way to or from one. Ends by a signal. */
#include <stdio.h>

#define NEVER_INLINED __attribute__((noinline, noclone))

static volatile long sink;

NEVER_INLINED long returned_from(long number)
{
	return number + 1;
}

/* A nop of five bytes with a frame: the kernel may make it a call. */
NEVER_INLINED long has_long_nop(long number)
{
	volatile long kept[8] = {number};

	__asm__ volatile(".globl long_nop\nlong_nop: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00");
	return kept[0] + 1;
}

NEVER_INLINED long often(long number)
{
	long sum = 0;

	for (int i = 0; i < 1000; i++)
		sum += returned_from(number + i) + has_long_nop(i);
	return sum + 1;
}

int main(void)
{
	puts("ready");
	fflush(stdout);
	for (;;)
		sink = often(sink);
}
