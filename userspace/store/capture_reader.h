/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a capture. Captures are untrusted: every length, offset, id and enum is checked; what is damaged
 * is dropped and counted. Opening reads the whole file once (checksums, facts); then a cursor gives the
 * events of all blocks in time order through one small buffer per block that overlaps now, so memory does
 * not grow with the length of the capture.
 *
 * Records come out in the layout of this build whatever version wrote them (fields it did not know read
 * as absent, kinds we do not know are counted), and with ids renumbered: name, stack and every ID or TEXT
 * field is a dense number (from 1) over all sources, 0 = absent; so a fact's own id is its place in
 * capture_facts(). An id without its fact stays visible: a fact is made up for it (text "#17") and counted.
 */
#ifndef GPUPROBE_STORE_CAPTURE_READER_H
#define GPUPROBE_STORE_CAPTURE_READER_H

#include "base/err.h"
#include "store/schema.h"

struct capture_reader;

/* fd: seekable, read with pread; stays the caller's, must stay open. -EINVAL with a reason for what is no
 * capture. A capture without a single good block but with a good header is empty, not an error. */
int capture_reader_open(int fd, struct capture_reader **ret_reader, struct err *err);
struct capture_reader *capture_reader_free(struct capture_reader *reader);

/* True when the end block is missing: gpuprobe was killed or could not write. */
bool capture_reader_cut(const struct capture_reader *reader);

/* From the first start to the last start or known end of all events; false without events. */
bool capture_reader_range(const struct capture_reader *reader, u64 *ret_first_ns, u64 *ret_last_ns);

/* All facts of a kind, renumbered, in their order (for kinds with an id: the fact with id n is [n - 1];
 * other kinds: as they came, sorted by ts). */
const struct record_header *const *capture_facts(const struct capture_reader *reader, u16 kind,
						 size_t *ret_count);
/* The string of a renumbered text id; NULL for 0. */
const char *capture_text(const struct capture_reader *reader, u32 id);
/* Addresses of a renumbered stack id, innermost first; 0 when absent. */
size_t capture_stack(const struct capture_reader *reader, u32 id, const u64 **ret_addresses);

/* Did the writer know this kind of record? Else that there is none says nothing. */
bool capture_reader_knew(const struct capture_reader *reader, const char *tag);

/* What reading itself found, as loss reasons; count is 0 where nothing was lost. */
u64 capture_reader_loss(const struct capture_reader *reader, u32 loss_reason);

/* ---- events in time order ---------------------------------------------------------------------------
 * Ties: longest first, then pid, tid, kind, place in the file. Several cursors may exist. */
struct capture_cursor;

int capture_cursor_open(struct capture_reader *reader, struct capture_cursor **ret_cursor,
			struct err *err);
/* 1 and a record that is valid until the next call; 0 at the end; -errno. */
int capture_cursor_next(struct capture_cursor *cursor, const struct record_header **ret_record,
			struct err *err);
struct capture_cursor *capture_cursor_free(struct capture_cursor *cursor);

#endif
