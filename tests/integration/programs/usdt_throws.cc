/* SPDX-License-Identifier: GPL-2.0-or-later */
// Throws, catches, throws again; prints how often.
#include <stdexcept>

#include "protocol.h"

static unsigned long throws, catches, rethrows;

PROBED void thrower(int i)
{
	throws++;
	throw std::runtime_error(i & 1 ? "odd" : "even");
}

PROBED void middle(int i)
{
	try {
		thrower(i);
	} catch (const std::runtime_error &) {
		catches++;
		if (i % 5 == 0) {
			rethrows++;
			throw;
		}
	}
}

int main()
{
	protocol_begin();
	for (int i = 0; i < 500; i++) {
		try {
			middle(i);
		} catch (const std::exception &) {
			catches++;
		}
	}
	protocol_count("throw", throws);
	protocol_count("catch", catches);
	protocol_count("rethrow", rethrows);
	protocol_end();
	return 0;
}
