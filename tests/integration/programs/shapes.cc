/* SPDX-License-Identifier: GPL-2.0-or-later */
// Names that are mangled: namespaces, overloads, templates.
#include "protocol.h"

namespace shapes
{

volatile int sink;

struct Circle {
	PROBED void draw(int)
	{
		sink = sink + 1;
	}
	PROBED void draw(double)
	{
		sink = sink + 1;
	}
};

struct Square {
	PROBED void draw(int)
	{
		sink = sink + 1;
	}
};

template <typename T> PROBED void render(T)
{
	sink = sink + 1;
}

} // namespace shapes

int main()
{
	shapes::Circle circle;
	shapes::Square square;

	protocol_begin();
	for (int i = 0; i < 100; i++) {
		circle.draw(1);
		circle.draw(1.0);
		circle.draw(2.0);
		square.draw(1);
		shapes::render<long>(1);
	}
	protocol_end();
}
