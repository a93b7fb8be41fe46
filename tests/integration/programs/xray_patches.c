/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LLVM XRay, which writes to the sleds of traced functions on command: in the second turn to all at once (argument "all") or to one after the
 * other ("each"), and in the fourth it puts back what was there. Each turn is 100 calls of each of x0 to x3, which lie on pages of their own,
 * and of plain().
 */
#include <stdint.h>
#include <string.h>

#include "protocol.h"

/* Of <xray/xray_interface.h>, which is C++. */
void __xray_init(void);
int __xray_set_handler(void (*handler)(int32_t function, int type));
int __xray_patch(void), __xray_unpatch(void);
int __xray_patch_function(int32_t id), __xray_unpatch_function(int32_t id);
size_t __xray_max_function_id(void);
#define SUCCESS 1

#define CALLS 100

static unsigned long handled;

static void on_event(int32_t function, int type)
{
	(void)function;
	(void)type;
	handled++;
}

#define TRACED(name, number)                                                               \
	PROBED __attribute__((xray_always_instrument, aligned(4096))) int name(int value); \
	int name(int value)                                                                \
	{                                                                                  \
		return value + number;                                                     \
	}
TRACED(x0, 0)
TRACED(x1, 1)
TRACED(x2, 2)
TRACED(x3, 3)
static int (*const traced[])(int) = {x0, x1, x2, x3};
#define TRACED_COUNT 4

PROBED __attribute__((xray_never_instrument, aligned(4096))) int plain(int value);
int plain(int value)
{
	return value - 1;
}

static int patch(int each, int out)
{
	int failed = 0;

	if (!each)
		return (out ? __xray_unpatch() : __xray_patch()) != SUCCESS;
	for (int32_t id = 1; id <= (int32_t)__xray_max_function_id(); id++)
		failed +=
			(out ? __xray_unpatch_function(id) : __xray_patch_function(id)) != SUCCESS;
	return failed;
}

__attribute__((xray_never_instrument)) int main(int argc, char **argv)
{
	int each = argc > 1 && !strcmp(argv[1], "each");

	__xray_init();
	__xray_set_handler(on_event);
	protocol_begin();
	for (int turn = 0;; turn++) {
		unsigned long wrong = 0;

		if ((turn == 1 || turn == 3) && patch(each, turn == 3))
			return 2;
		handled = 0;
		for (int i = 0; i < CALLS; i++) {
			wrong += plain(i) != i - 1;
			for (int f = 0; f < TRACED_COUNT; f++)
				wrong += traced[f](i) != i + f;
		}
		protocol_count("wrong", wrong);
		protocol_count("handled", handled);
		protocol_done();
		if (!protocol_next())
			return 0;
	}
}
