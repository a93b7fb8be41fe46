/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first lines of the summary, if there are any: what was not recorded to the end of the window, from when on and why; which GPUs are not known to be
 * idle. */
#ifndef GPUPROBE_REPORTS_BLOCK_OPENING_H
#define GPUPROBE_REPORTS_BLOCK_OPENING_H

#include "view/view.h"

#define BLOCK_OPENING_LINES_MAX 5

/* At most so many. 0 or -ENOMEM. */
int block_opening_append(const struct view *view, struct text *text);

#endif
