/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In its second turn it makes the page of malloc() writable for a moment. */
#include <stdint.h>
#include <sys/mman.h>

#include "protocol.h"

#define CALLS 100

int main(void)
{
	long page = sysconf(_SC_PAGESIZE);
	void *begin = (void *)((uintptr_t)malloc & -page);

	protocol_begin();
	for (int turn = 0;; turn++) {
		if (turn == 1 && (mprotect(begin, page, PROT_READ | PROT_WRITE | PROT_EXEC) ||
				  mprotect(begin, page, PROT_READ | PROT_EXEC)))
			return 2;
		for (int i = 0; i < CALLS; i++) {
			void *volatile memory = malloc(1000 + i);

			free(memory);
		}
		protocol_count("malloc", CALLS);
		protocol_done();
		if (!protocol_next())
			return 0;
	}
}
