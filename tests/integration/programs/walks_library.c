/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library without frame pointers, for walks_life.c. */
#include <sys/syscall.h>
#include <time.h>

static volatile int sink;

__attribute__((noinline, noclone)) static void inner(void (*function)(void))
{
	function();
	sink = sink + 1;
}

__attribute__((noinline, noclone)) void walks_through(void (*function)(void))
{
	inner(function);
	sink = sink + 1;
}

static int chosen(void)
{
	return 1;
}

/* Runs while the loader binds the first call: below _dl_runtime_resolve, which keeps the frame in rbx. */
__attribute__((noinline, noclone)) static int (*choose(void))(void)
{
	struct timespec time = {0, 50000000};
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(SYS_nanosleep), "D"(&time), "S"(0L)
			 : "rcx", "r11", "memory");
	return chosen;
}

int walks_chosen(void) __attribute__((ifunc("choose")));

/* By the linkage table. */
__attribute__((noinline, noclone)) int walks_bind(void)
{
	int result = walks_chosen();

	sink = sink + result;
	return result;
}
