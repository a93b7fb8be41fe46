/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was found so far, as the other process sends it. Nothing that it sends is believed unchecked. */
#ifndef GPUPROBE_RESOLVE_ANSWERS_H
#define GPUPROBE_RESOLVE_ANSWERS_H

#include "base/map.h"
#include "resolve/wire.h"

#define ANSWERS_FRAMES_MAX (1U << 20)
#define ANSWERS_TEXT_MAX_BYTES (256ULL << 20)

struct answer {
	struct wire_message message;
	u32 name, file; /* in strings */
	u32 next;	/* 1 + the next level's place; 0: none */
};

/* A debug file that is not there. */
struct answers_wish {
	u32 group;
	u32 address_count; /* that it would name */
	u8 build_id[WIRE_BUILD_ID_MAX_BYTES];
	size_t build_id_bytes;
	bool refused; /* what was given for it */
};

/* Zero-initialise but for the counts. */
struct answers {
	size_t address_count, group_count;
	u32 *first, *last; /* of each address: 1 + place of its levels */
	struct answer *items;
	size_t count, capacity;
	struct string_table strings;
	u64 text_bytes;
	u8 *bytes; /* received, not taken apart yet */
	size_t filled, byte_capacity;
	size_t group; /* the last one that was begun; SIZE_MAX: none */
	bool *is_cut; /* of each group */
	struct answers_wish *wishes;
	size_t wish_count, wish_capacity;
	bool at_end;
};

int answers_init(struct answers *answers);
/* Reads what the pipe has; blocks only if it has nothing. 1; 0 at its end; -EPROTO for nonsense, -errno. */
int answers_read(struct answers *answers, int pipe_fd);
void answers_free(struct answers *answers);

#endif
