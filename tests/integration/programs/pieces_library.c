/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that needs nothing but itself wherever it is mapped, for pieces.c. */
__attribute__((noinline, noclone)) long piece(void (*function)(void))
{
	function();
	return 1;
}
