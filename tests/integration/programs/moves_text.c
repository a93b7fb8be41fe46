/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Moves the middle of its text to anonymous memory at the same place, as programs do that want it on huge pages,
 * and rests below it.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE_BYTES 4096

static volatile int sink;

__attribute__((noinline, noclone)) void rest(void)
{
	struct timespec time = {0, 2000000};

	nanosleep(&time, NULL);
	sink = sink + 1;
}

__attribute__((section(".moved"), aligned(PAGE_BYTES), noinline, noclone)) static int
moved_inner(void (*function)(void))
{
	function();
	return 1;
}

__attribute__((section(".moved"), noinline, noclone)) static int moved_outer(void (*function)(void))
{
	int before = sink;

	return moved_inner(function) + before;
}

/* Fills the rest of the page, so that nothing else lies in it. */
__attribute__((section(".moved"), used)) static void filler(void)
{
	__asm__ volatile(".skip 8192, 0x90");
}

static int move(void)
{
	char *page = (char *)((unsigned long)moved_inner & ~(PAGE_BYTES - 1UL));
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
	if (move())
		return 1;
	puts("ready");
	fflush(stdout);
	for (;;)
		sink = sink + moved_outer(rest);
}
