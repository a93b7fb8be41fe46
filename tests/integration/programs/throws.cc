/* SPDX-License-Identifier: GPL-2.0-or-later */
// Throws through probed frames: caught far up, rethrown, through destructors, and out of a
// comparison of qsort.
#include <stdexcept>

#include "protocol.h"

static unsigned long destroyed;
static volatile int sink;

struct Counted {
	~Counted()
	{
		destroyed++;
	}
};

PROBED void thrower(int value)
{
	sink = sink + 1;
	if (value % 3 == 0)
		throw std::runtime_error("as asked");
}

PROBED void passed_through(int value)
{
	Counted counted;

	thrower(value);
	sink = sink + 1;
}

PROBED void rethrower(int value)
{
	try {
		passed_through(value);
	} catch (...) {
		throw;
	}
}

static int compare(const void *, const void *)
{
	throw 1;
}

int main()
{
	unsigned long caught = 0;
	int values[2] = {1, 2};

	protocol_begin();
	for (int i = 0; i < 900; i++) {
		try {
			rethrower(i);
		} catch (const std::runtime_error &) {
			caught++;
		}
	}
	try {
		qsort(values, 2, sizeof(int), compare);
	} catch (int) {
		caught++;
	}
	protocol_count("thrower", 900);
	protocol_count("passed_through", 900);
	protocol_count("rethrower", 900);
	protocol_count("caught", caught);
	protocol_count("destroyed", destroyed);
	protocol_end();
}
