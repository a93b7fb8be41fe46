/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is said of children, and of processes whose first thread has ended: before and after. */
#ifndef GPUPROBE_VERBS_ANNOUNCE_FOLLOW_H
#define GPUPROBE_VERBS_ANNOUNCE_FOLLOW_H

#include "base/text.h"
#include "session/session.h"
#include "options/options.h"
#include "recording/attachment.h"

/* One line (with its newline) for each thing that follows from --children and from first threads that ended. */
void announce_follow_append_plan(struct text *text, const struct attachment *attachment,
			const struct options *options);
/* Warnings. */
void announce_follow_plan(const struct attachment *attachment, const struct options *options);
void announce_follow_result(const struct attachment *attachment, const struct session_status *status);

#endif
