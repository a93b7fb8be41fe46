/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UCX puts a jump into libc's munmap: how many calls it saw, and how many failed. */
#include <sys/mman.h>
#include <ucm/api/ucm.h>

#include "protocol.h"

#define CALLS 100
#define BYTES 4096

static unsigned long seen;

static void on_unmap(ucm_event_type_t type, ucm_event_t *event, void *data)
{
	seen++;
}

int main(void)
{
	if (ucm_set_event_handler(UCM_EVENT_VM_UNMAPPED, 1000, on_unmap, NULL))
		return 2;
	protocol_begin();
	do {
		unsigned long failed = 0;

		seen = 0;
		for (int i = 0; i < CALLS; i++)
			failed += munmap(mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
					      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
					 BYTES) != 0;
		protocol_count("munmap", CALLS);
		protocol_count("seen", seen);
		protocol_count("failed", failed);
		protocol_done();
	} while (protocol_next());
	return 0;
}
