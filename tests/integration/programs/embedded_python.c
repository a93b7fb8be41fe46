/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Python out of libpython instead of the interpreter's own executable. KEYS: so many thread-specific data are taken before. */
#include <pthread.h>

#ifndef KEYS
#define KEYS 0
#endif

int Py_BytesMain(int argc, char **argv);

int main(int argc, char **argv)
{
	for (int i = 0; i < KEYS; i++) {
		pthread_key_t key;

		if (pthread_key_create(&key, 0))
			return 1;
	}
	return Py_BytesMain(argc, argv);
}
