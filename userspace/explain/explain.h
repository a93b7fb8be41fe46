/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a capture says, in one screen: what the processes are, how busy GPUs were, what cost most and what to try, kernels, code, memory.
 * What may be wrong is a table, findings.def; a finding has the records behind it, and is none without. Each nanosecond in which a GPU was
 * idle is of one finding at most (why/why.h), so that they add up; what copies cost while a GPU did nothing else comes on top.
 */
#ifndef GPUPROBE_EXPLAIN_EXPLAIN_H
#define GPUPROBE_EXPLAIN_EXPLAIN_H

#include "base/err.h"
#include "base/text.h"
#include "view/view.h"

enum explain_format { EXPLAIN_TEXT, EXPLAIN_MARKDOWN, EXPLAIN_JSON };

/* -EINVAL: there is no such format. */
int explain_format_find(const char *name, enum explain_format *ret_format, struct err *err);

#define EXPLAIN_COLUMNS 110

struct explain_style {
	enum explain_format format;
	bool brief; /* of text: 12 lines at most */
	const char *path; /* of the capture, for people; NULL: none */
	size_t columns; /* of text: how wide it is at most; 0: EXPLAIN_COLUMNS */
};

/* Appended. docs/formats/explain.md has what JSON looks like. 0 or -errno. */
int explain_append(struct view *view, const struct explain_style *style, struct text *text, struct err *err);

#endif
