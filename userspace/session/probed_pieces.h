/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where in a process's memory the code is that is probed (plan/code_pieces.h), as it was when that was looked at. */
#ifndef GPUPROBE_SESSION_PROBED_PIECES_H
#define GPUPROBE_SESSION_PROBED_PIECES_H

#include "collect/bpf/bpf_source.h"
#include "plan/code_pieces.h"

struct probed_piece {
	u64 start, end;
	u64 file_offset; /* of its start */
	size_t number;	 /* in its plan */
	bool heap;     /* that is the one of allocators of host memory */
	bool gone;     /* its probes were taken out */
	bool shared;   /* and something stayed there: another one's */
	bool written;  /* since then it had other code than its file */
};

struct probed_pieces {
	const struct plan *plan, *heap_plan; /* heap_plan: NULL: none */
	struct probed_piece *items;
	size_t count, capacity;
};

/* Plans are the caller's. 0 or -ENOMEM. */
int probed_pieces_list(const struct plan *plan, const struct plan *heap_plan,
		       const struct code_memory *memory, struct probed_pieces *ret_pieces);
void probed_pieces_free(struct probed_pieces *pieces);
struct code_piece_owner probed_piece_owner(const struct probed_pieces *pieces,
					   const struct probed_piece *piece);
/* The pages in which they lie; with what lies between them where there are too many. 0 or -ENOMEM. */
int probed_pieces_pack(const struct probed_pieces *pieces, struct probed_code *ret_code);

/* Each place with a probe in a piece, and the byte that its file has there. 0 or what the callback said, which ends it. */
typedef int (*probed_place_callback)(void *data, u64 address, u8 file_byte);
int probed_piece_places(const struct probed_pieces *pieces, const struct probed_piece *piece,
			probed_place_callback callback, void *data);

#endif
