/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Moves a page of its own code to anonymous memory, as programs do that want their text on huge pages: no file is
 * behind it any more, and a probe on the file does nothing there.
 */
#include <string.h>
#include <sys/mman.h>

#include "protocol.h"

#define PAGE_BYTES 4096
#define CALLS	   1000

static volatile long sink;

__attribute__((section(".moved"), aligned(PAGE_BYTES))) PROBED long moved(long value)
{
	return value + 1;
}

/* Fills the rest of the page, so that nothing else lies in it. */
__attribute__((section(".moved"), used)) static void filler(void)
{
	__asm__ volatile(".skip 8192, 0x90");
}

PROBED long stays(long value)
{
	sink += value;
	return value + 1;
}

static int remap(void)
{
	char *page = (char *)((unsigned long)moved & ~(PAGE_BYTES - 1UL));
	char *copy =
		mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		return -1;
	memcpy(copy, page, PAGE_BYTES);
	if (mprotect(copy, PAGE_BYTES, PROT_READ | PROT_EXEC))
		return -1;
	return mremap(copy, PAGE_BYTES, PAGE_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, page) == page
		       ? 0
		       : -1;
}

int main(void)
{
	if (remap()) {
		printf("refused\n");
		return 0;
	}
	protocol_begin();
	for (long i = 0; i < CALLS; i++)
		sink += moved(i) + stays(i);
	protocol_count("stays", CALLS);
	protocol_end();
	return 0;
}
