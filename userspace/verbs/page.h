/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a verb prints on standard output: made in memory first, then written at once, so that the reason is
 * known when the writing fails.
 */
#ifndef GPUPROBE_VERBS_PAGE_H
#define GPUPROBE_VERBS_PAGE_H

#include <stdio.h>

struct page {
	FILE *file; /* print here */
	char *data;
	size_t size_bytes;
};

/* 0 or -ENOMEM. */
int page_open(struct page *page);
/* Writes it and frees it. A reader that has gone (`| head`) is no failure; a full disk is one, and is
 * printed. Returns the exit code. Ignores SIGPIPE from then on. */
int page_write(struct page *page);
void page_discard(struct page *page);

#endif
