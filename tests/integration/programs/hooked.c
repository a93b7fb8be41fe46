/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each turn is 100 calls of hooked() and of plain(); says how many had a wrong result. */
#include "protocol.h"

#define CALLS 100

PROBED int plain(int value);
int plain(int value)
{
	return value - 1;
}

PROBED int hooked(int value);
int hooked(int value)
{
	return plain(value) + plain(value + 1);
}

int main(void)
{
	protocol_begin();
	do {
		unsigned long wrong = 0;

		for (int i = 0; i < CALLS; i++)
			wrong += hooked(i) != 2 * i - 1 || plain(i) != i - 1;
		protocol_count("wrong", wrong);
		protocol_done();
	} while (protocol_next());
	return 0;
}
