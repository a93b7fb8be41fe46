/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Throws, and catches what its own function threw through the code of others. */
extern "C" void library_throw()
{
	throw 1;
}

extern "C" int library_catch(void (*function)())
{
	try {
		function();
	} catch (int) {
		return 1;
	}
	return 0;
}
