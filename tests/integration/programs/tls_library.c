/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library with a variable of each thread's own: the loader counts those. */
__thread int of_this_thread = 1;

int tls_library_value(void);
int tls_library_value(void)
{
	return of_this_thread;
}
