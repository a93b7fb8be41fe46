/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is inside probed calls while the recording ends; then throws through them, and once more. */
#include <stdexcept>

#include "protocol.h"

static volatile int sink, throws = 1;

PROBED void waits_and_throws()
{
	printf("waits 1\n");
	protocol_done();
	protocol_next();
	if (throws)
		throw std::runtime_error("after the detach");
}

PROBED void open_at_detach()
{
	waits_and_throws();
	sink = sink + 1;
}

int main()
{
	unsigned long caught = 0;

	protocol_begin();
	for (int i = 0; i < 2; i++) {
		try {
			open_at_detach();
		} catch (const std::runtime_error &) {
			caught++;
		}
	}
	protocol_count("caught", caught);
	protocol_end();
}
