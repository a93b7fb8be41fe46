/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls the function of text_relocations.c, and another of its own. */
#include "protocol.h"

#define CALLS 100

void bump(void);
extern long number_of_bumps;

PROBED int plain(int number)
{
	return number + 1;
}

int main(void)
{
	protocol_begin();
	do {
		volatile int sum = 0;

		number_of_bumps = 0;
		for (int i = 0; i < CALLS; i++) {
			bump();
			sum += plain(i);
		}
		protocol_count("plain", CALLS);
		protocol_count("bumped", (unsigned long)number_of_bumps);
		protocol_done();
	} while (protocol_next());
	return 0;
}
