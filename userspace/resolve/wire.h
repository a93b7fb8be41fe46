/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the process that looks names up writes into its pipe: a struct wire_message, then its two strings. */
#ifndef GPUPROBE_RESOLVE_WIRE_H
#define GPUPROBE_RESOLVE_WIRE_H

#include "base/types.h"

#define WIRE_NAME_MAX_BYTES 16384
#define WIRE_FILE_MAX_BYTES 4096
#define WIRE_BUILD_ID_MAX_BYTES 64

enum wire_type {
	WIRE_GROUP = 1, /* begins with group `index` */
	WIRE_FRAME,	/* level `level` at address `index`; level 0 replaces all that was said of the address */
	WIRE_CUT,	/* group `index` has more debug information than is read */
	WIRE_WANTED,	/* a debug file would name `line` addresses of group `index`; name: the build id. level 1: that which was given is of another file */
	WIRE_END,	/* all groups are done */
};

#define WIRE_CHAIN_BEGINS	  1
#define WIRE_CHAIN_CALLER_MISSING 2

struct wire_message {
	u32 type;
	u32 index;
	u64 file_address;
	u32 offset_bytes;
	u32 line;
	u8 level, origin, inlined;
	u8 chain; /* WIRE_CHAIN_* */
	u16 name_bytes, file_bytes;
};

_Static_assert(sizeof(struct wire_message) == 32, "no padding is sent");

#endif
