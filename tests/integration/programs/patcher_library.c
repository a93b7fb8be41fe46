/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library that copies the beginning of munmap() as it is loaded. */
#include <string.h>
#include <sys/mman.h>

#define BREAKPOINT 0xcc

static unsigned char copy[16];

__attribute__((constructor)) static void keep(void)
{
	memcpy(copy, (void *)munmap, sizeof(copy));
}

/* How many it has copied. */
unsigned breakpoints(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < sizeof(copy); i++)
		count += copy[i] == BREAKPOINT;
	return count;
}
