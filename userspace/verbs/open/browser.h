/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the user looks at a page: in a browser of this desktop, or at the other end of an ssh. */
#ifndef GPUPROBE_VERBS_OPEN_BROWSER_H
#define GPUPROBE_VERBS_OPEN_BROWSER_H

#include "base/text.h"

struct browser {
	bool has_desktop;
	struct text forward; /* "user@10.0.0.1", what to give to ssh; empty: no ssh */
};

/* Looks into our environment and, as sudo takes away what says it, those of the processes that led to us. To be called before rights are dropped. */
void browser_find(struct browser *ret_browser);
/* ssh leads a port of the user's machine here: "ssh -N -L 9001:127.0.0.1:9001 user@host". */
void browser_append_forward(const struct browser *browser, unsigned port, struct text *text);
/* Starts it, and does not wait. False: it can't be started. */
bool browser_open(const struct browser *browser, const char *url);
void browser_free(struct browser *browser);

#endif
