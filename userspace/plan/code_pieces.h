/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What of a file's code has to be in memory as it is in the file: of each function that a plan probes the bytes from its entry to the last
 * place that is probed, and the places of USDT probes.
 */
#ifndef GPUPROBE_PLAN_CODE_PIECES_H
#define GPUPROBE_PLAN_CODE_PIECES_H

#include "plan/code_memory.h"
#include "plan/plan.h"

/* Numbers of pieces: functions of the plan, by their index; behind them the places of USDT probes, in the order of the plan. */
struct code_pieces {
	struct code_piece *items; /* by their place in the file */
	size_t count, capacity;
};

/* Of a module, in place of what was there; the caller frees items. 0 or -ENOMEM. */
int code_pieces_list(const struct plan *plan, size_t module, struct code_pieces *pieces);

/* Whose a piece is. */
struct code_piece_owner {
	struct plan_function *function; /* NULL: a USDT probe's */
	struct plan_usdt *usdt;
	struct plan_usdt_site *site;
	size_t module;
};
struct code_piece_owner code_piece_owner(const struct plan *plan, size_t number);

/* Each piece of a plan in the memory of a process, where it starts there. 0, what the callback said, which ends it, or -ENOMEM. */
typedef int (*code_piece_callback)(void *data, const struct code_piece *piece, u64 start);
int code_pieces_in_memory(const struct plan *plan, const struct code_memory *memory,
			  code_piece_callback callback, void *data);
/* Each that is something else there than in the file: code_memory_compare(). 0 or -ENOMEM. */
typedef void (*code_changed_callback)(void *data, size_t number, u64 address);
int code_pieces_compare(const struct plan *plan, struct code_memory *memory,
			code_changed_callback callback, void *data);

#endif
