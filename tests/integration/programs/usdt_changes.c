/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * marked() has a USDT probe. In the second turn it is overwritten, from its first byte on, by a jump to replaced(), and the mapping is split
 * and merged again. Each turn is 100 calls.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sdt.h>

#include "protocol.h"

#define CALLS 100

PROBED __attribute__((aligned(8192))) int marked(int value);
int marked(int value)
{
	DTRACE_PROBE1(truth, mark, value);
	return value + 1;
}

PROBED __attribute__((aligned(8192))) int replaced(int value);
int replaced(int value)
{
	return value + 2;
}

static void protect(uint8_t *page, int protection)
{
	if (mprotect(page, 4096, protection))
		exit(2);
}

static void change(uint8_t *code)
{
	int32_t distance = (int32_t)((uint8_t *)replaced - (code + 5));

	protect(code, PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy(code + 1, &distance, 4);
	code[0] = 0xe9;
	protect(code, PROT_READ | PROT_EXEC);
	protect(code + 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
	protect(code + 4096, PROT_READ | PROT_EXEC);
}

int main(void)
{
	protocol_begin();
	for (int turn = 0;; turn++) {
		unsigned long wrong = 0;

		if (turn == 1)
			change((uint8_t *)marked);
		for (int i = 0; i < CALLS; i++)
			wrong += marked(i) != i + (turn ? 2 : 1);
		protocol_count("wrong", wrong);
		protocol_done();
		if (!protocol_next())
			return 0;
	}
}
