/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of an output on its way into base/output.h: exporters append to writer->text and call
 * writer_flush() after every event. A full chunk is handed to a thread that compresses and writes it while
 * the exporter makes the next one; at most two chunks exist.
 */
#ifndef GPUPROBE_EXPORTERS_WRITER_H
#define GPUPROBE_EXPORTERS_WRITER_H

#include "base/err.h"
#include "base/text.h"

#define WRITER_CHUNK_BYTES (256 * 1024)

struct writer_thread;

struct writer {
	struct text text;
	struct writer_thread *thread;
	const char *path; /* for messages; the caller's, must outlive the writer */
};

int writer_create(struct writer *writer, const char *path, bool gzip, struct err *err);
/* Hands text on whatever its length. A failure of an earlier chunk shows here. */
int writer_flush_now(struct writer *writer, struct err *err);
/* Flushes (when commit) and renames, or drops; frees in every case. ret_size_bytes may be NULL. */
int writer_finish(struct writer *writer, bool commit, u64 *ret_size_bytes, struct err *err);

static inline int writer_flush(struct writer *writer, struct err *err)
{
	if (writer->text.length < WRITER_CHUNK_BYTES && !writer->text.failed)
		return 0;
	return writer_flush_now(writer, err);
}

#endif
