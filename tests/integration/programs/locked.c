/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A function that begins with a lock prefix, which the kernel does not probe. */
#include <stdio.h>
#include <unistd.h>

static unsigned long counter;

__attribute__((noinline, noclone, used, naked)) static void locked(void)
{
	__asm__("lock incq %0; ret" : : "m"(counter));
}

int main(void)
{
	puts("ready");
	fflush(stdout);
	for (;;) {
		locked();
		usleep(1000);
	}
}
