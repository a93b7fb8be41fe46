/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The layout of a capture (.gpr), version 1. Little-endian; everything starts at a multiple of 8 bytes.
 *
 *	struct capture_file_header
 *	block SCHEMA		the table of kinds of the writer, as text (below)
 *	block FACTS, EVENTS	any number, in any order; the facts of a batch go before its events
 *	block END		payload: struct capture_index_entry for each block of facts or events
 *
 * A block is a struct capture_block_header and payload_bytes of payload. It is written by one write(2) and
 * never changed: a reader takes every block whose two checksums hold, finds the next one by its magic and
 * its own offset where a header is damaged, and drops a torn tail. A file without END was cut.
 *
 * FACTS and EVENTS hold records back to back (record.h). Those of an EVENTS block are sorted as
 * record_order.h says; blocks may overlap in time.
 *
 * SCHEMA is lines of words separated by single blanks; readers skip lines that begin with an unknown word:
 *	kind NUMBER TAG SHAPE ROW TAIL SIZE_BYTES
 *	field NAME OFFSET_BYTES ELEMENT_BYTES COUNT UNIT REFERENCE ABSENT	of the kind above it
 *	enum ENUM NUMBER TAG
 * Kinds and fields are matched by tag and name, never by number or place.
 */
#ifndef GPUPROBE_STORE_CAPTURE_FORMAT_H
#define GPUPROBE_STORE_CAPTURE_FORMAT_H

#include <zlib.h>

#include "base/err.h"
#include "base/text.h"
#include "base/types.h"

#define CAPTURE_MAGIC	     "GPUPROBE"
#define CAPTURE_VERSION	     1
#define CAPTURE_BLOCK_MAGIC  0x4b434f4c42505047ULL /* "GPPBLOCK" */
#define CAPTURE_PAYLOAD_MAX  (1U << 20) /* what writers put into a block of records */
#define CAPTURE_PAYLOAD_HARD (1U << 28) /* what readers take: an END block may be longer */

struct capture_file_header {
	char magic[8];
	u32 version;
	u32 size_bytes; /* of this header */
	u64 schema_hash;
	u32 reserved;
	u32 crc; /* of the bytes before it */
};

enum capture_block_type {
	CAPTURE_BLOCK_SCHEMA = 1,
	CAPTURE_BLOCK_FACTS = 2,
	CAPTURE_BLOCK_EVENTS = 3,
	CAPTURE_BLOCK_END = 4,
};

struct capture_block_header {
	u64 magic;
	u64 offset; /* of this header in the file */
	u32 type;
	u32 payload_bytes; /* a multiple of 8 */
	u32 record_count;
	u32 payload_crc;
	u64 first_ns; /* EVENTS: the first start and the last known end; else 0 */
	u64 last_ns;
	u64 reserved;
	u32 reserved2;
	u32 header_crc; /* of the bytes before it */
};

struct capture_index_entry {
	u64 offset; /* of the block's header */
	u64 first_ns;
	u64 last_ns;
	u32 type;
	u32 record_count;
};

_Static_assert(sizeof(struct capture_file_header) == 32, "file header");
_Static_assert(sizeof(struct capture_block_header) == 64, "block header");
_Static_assert(sizeof(struct capture_index_entry) == 32, "index entry");

static inline u32 capture_crc(const void *data, size_t size_bytes)
{
	return crc32_z(0, data, size_bytes);
}

/* The end of a record in time, without overflow; what is open ends at its start. */
static inline u64 capture_record_end(u64 ts, u64 dur)
{
	if (dur == ~0ULL)
		return ts;
	return ts + dur < ts ? ~0ULL : ts + dur;
}

#endif
