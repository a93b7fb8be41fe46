/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What threads wait for, and who of others runs instead of them or wakes them: the BPF programs tell of each descriptor and thread once, and a
 * descriptor is looked at while it is still there. */
#include "base/cleanup.h"
#include "process/open_file.h"
#include "session/session_parts.h"

void session_on_waited(void *data, const struct process_event *event)
{
	struct session *session = data;
	struct batch *batch = batch_queue_take_empty(session->queue);
	_cleanup_text_ struct text text = {0};

	if (event->kind == PROCESS_STRANGER)
		text_appendf(&text, "%.*s", (int)sizeof(event->comm), (const char *)event->comm);
	else if (!open_file_describe(event->pid, event->thread, event->address, &text))
		text_appendf(&text, "descriptor %u (not known what it was)", event->thread);
	if (!text.failed)
		(void)batch_add_text(batch, RECORD_SOURCE_BPF, event->number, text.data,
				     text.length);
	batch_queue_put_full(session->queue, batch);
}
