/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What XProf shows beside a profile as errors and warnings: errors are what was to be recorded and could not be, warnings the rest of the
 * ledger and remarks. Each thing is said once.
 */
#ifndef GPUPROBE_EXPORTERS_XPLANE_XPLANE_MESSAGES_H
#define GPUPROBE_EXPORTERS_XPLANE_XPLANE_MESSAGES_H

#include "base/text.h"
#include "view/view.h"

struct xplane_message_list {
	char **strings; /* UTF-8 */
	size_t count, capacity;
};

struct xplane_messages {
	struct xplane_message_list errors, warnings;
};

/* The ledger, failures and remarks. Zero-initialise; xplane_messages_free() after a failure too. 0 or -ENOMEM. */
int xplane_messages_make(struct xplane_messages *messages, const struct view_survey *survey);
/* One more, in the words behind "gpuprobe: ". 0 or -ENOMEM. */
int xplane_messages_add(struct xplane_message_list *list, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void xplane_messages_free(struct xplane_messages *messages);

#endif
