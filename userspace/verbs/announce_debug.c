/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verbs/announce_debug.h"

#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "recording/frames.h"

void announce_debug_asked(size_t count)
{
	log_info("asking the servers of DEBUGINFOD_URLS for the debug file%s of %zu stripped "
		 "file%s (%llu s at most; "
		 "Ctrl-C: without)",
		 count > 1 ? "s" : "", count, count > 1 ? "s" : "",
		 (unsigned long long)(FRAMES_DEBUG_TIME_NS / NS_PER_SECOND));
}

static void append(struct text *text, u64 count, const char *words)
{
	if (count)
		text_appendf(text, "%s%llu %s", text->length ? ", " : "", (unsigned long long)count,
			     words);
}

void announce_debug_files(const struct resolve_debug_status *status)
{
	_cleanup_text_ struct text text = {0};

	if (status->err.code)
		log_warning("%s", status->err.message);
	append(&text, status->fetched_count, "fetched");
	if (status->fetched_count)
		text_appendf(&text, " (%.1f MB)", (double)status->fetched_bytes / 1e6);
	append(&text, status->kept_count, "from an earlier time");
	append(&text, status->unknown_count, "not there");
	append(&text, status->refused_count, "of other files than they should be of");
	append(&text, status->failed_count, "not to be had");
	if (status->failed_count)
		text_appendf(&text, " (%s)", strerror(-status->error));
	if (!status->err.code)
		append(&text, status->cut_count,
		       "not asked for or too large, as time or bytes were over");
	if (text.length && !text.failed)
		log_info("debug files for stripped ones: %s, in %.1f s", text_string(&text),
			 (double)status->took_ns / NS_PER_SECOND);
}
