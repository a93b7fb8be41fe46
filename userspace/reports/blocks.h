/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The summary: what people see at the end of a recording and of `gpuprobe stats` without -r, the first rows of some reports in
 * BLOCKS_LINES lines of BLOCKS_COLUMNS columns (blocks.def), or of a narrower terminal's, those of a recording's messages included, as far as
 * these leave room; in front of them what was not recorded to the end of the window, if that is so (block_opening.h).
 */
#ifndef GPUPROBE_REPORTS_BLOCKS_H
#define GPUPROBE_REPORTS_BLOCKS_H

#include <stdio.h>

#include "reports/reports.h"

#define BLOCKS_LINES   40
#define BLOCKS_COLUMNS 120

struct blocks_style {
	bool has_max_rows; /* the user said so: in place of the lines that a block has */
	u64 max_rows;	   /* of a block; 0: all */
	bool has_verdict; /* of explain/, in front of it: blocks that say what that says are left out */
	size_t columns; /* how wide it is at most; 0: BLOCKS_COLUMNS */
	size_t lines_elsewhere; /* what stands on the screen beside it: there are so many less */
	const char *path;  /* of the capture, for the commands that show more; NULL: it is not kept */
	FILE *file;	   /* flushing it, and whether it took all, is its owner's */
};

int blocks_print(struct view *view, const struct blocks_style *style, struct err *err);

/* The reports that blocks show of a capture, each once and in their order; room for those of reports(). */
int blocks_reports(struct view *view, struct report_request *ret_requests, size_t *ret_count,
		   struct err *err);

#endif
