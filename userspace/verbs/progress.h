/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `record` shows while it goes on: the lines on stderr, and on a terminal the line that is rewritten. */
#ifndef GPUPROBE_VERBS_PROGRESS_H
#define GPUPROBE_VERBS_PROGRESS_H

#include "session/session.h"

struct progress {
	const char *what; /* "redis-server (4242)" */
	bool on_terminal;
	bool line_shown;
	bool single_probes;
	u64 last_events, last_elapsed_ns; /* for the rate */
};

void progress_init(struct progress *progress, const char *what, bool single_probes);
/* The callbacks of a session; data is a struct progress. */
void progress_window_open(void *data, const struct session_status *status);
void progress_tick(void *data, const struct session_status *status);
void progress_detach(void *data, size_t links_left);
/* Takes the line away. */
void progress_end(struct progress *progress);

#endif
