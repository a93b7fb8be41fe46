/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library that stacks.cc loads: it calls what it is given, from a function that it does not export. */
static __attribute__((noinline)) long inner(long (*function)(void))
{
	long result = function();

	__asm__ volatile("");
	return result + 1;
}

long library_function(long (*function)(void))
{
	long result = inner(function);

	__asm__ volatile("");
	return result + 1;
}
