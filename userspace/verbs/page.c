/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verbs/page.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"

int page_open(struct page *page)
{
	memset(page, 0, sizeof(*page));
	page->file = open_memstream(&page->data, &page->size_bytes);
	return page->file ? 0 : -ENOMEM;
}

void page_discard(struct page *page)
{
	if (page->file)
		fclose(page->file);
	free(page->data);
	memset(page, 0, sizeof(*page));
}

int page_write(struct page *page)
{
	int failed = fclose(page->file);
	int result = failed ? -ENOMEM : 0;

	page->file = NULL;
	signal(SIGPIPE, SIG_IGN);
	if (result == 0)
		result = file_write(STDOUT_FILENO, page->data, page->size_bytes);
	page_discard(page);
	if (result == 0 || result == -EPIPE)
		return EXIT_SUCCESS;
	log_error("can't write to standard output: %s", strerror(-result));
	return EXIT_FAILURE;
}
