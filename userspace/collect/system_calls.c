/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/system_calls.h"

#include <string.h>

/* Rows [number] = "name", made out of <asm/unistd.h> by the Makefile. */
static const char *const names[SYSTEM_CALLS_MAX] = {
#include "system_calls.inc"
};

void system_calls_put(struct system_calls *calls, struct batch *batch)
{
	u64 count = batch_event_count(batch);

	for (u64 i = 0; i < count; i++) {
		const struct record_header *event = batch_event(batch, i);
		u32 number = event->name - TEXT_SYSTEM_CALL;

		if (event->source != RECORD_SOURCE_BPF || number >= SYSTEM_CALLS_MAX ||
		    calls->sent[number])
			continue;
		calls->sent[number] = true;
		if (names[number])
			(void)batch_add_text(batch, RECORD_SOURCE_BPF, event->name, names[number],
					     strlen(names[number]));
	}
}
