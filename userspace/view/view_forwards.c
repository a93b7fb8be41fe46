/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * By what code the forward pass did that of which autograd now does the backward pass. PyTorch under torch.autograd.profiler.emit_nvtx() says it by
 * the names of its ranges (torch/csrc/profiler/util.cpp, getNvtxStr(); documentation of emit_nvtx):
 *	aten::addmm, seq = 12, op_id = 40		the forward operation, which makes the node of autograd with the number 12 if it makes one
 *	AddmmBackward0, seq = 12, op_id = 91		that node at work, later
 * The number is one that counts in each thread, and goes up whenever a node is made. So the operation that made number 12 is the last one
 * that began with it; where two threads of the process had it, or the names of operation and node differ, nothing is said, nor where
 * ranges were lost: the last one may be among them. What is known of its code is the stack of a launch in it.
 */
#include "view/view_forwards.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "view/view_parts.h"

#define SEQUENCE  ", seq = "
#define NODE	  "Backward"
#define DEPTH_MAX 16	    /* of ranges with a number in each other */
#define SLOTS	  (1 << 16) /* the last ones are known; a power of two */

/* A name that was taken apart. */
struct numbered {
	const char *operation; /* without its namespace */
	size_t length;
	u64 number;
	bool backward; /* length is without "Backward0" */
};

struct forward_row { /* of a thread that has had such a range */
	struct forward_range {
		u64 ts, end;
		struct numbered what;
	} open[DEPTH_MAX];
	u32 count;
	u64 unknown_until; /* deeper ones were open up to then */
	u64 last_number;   /* of an operation */
};

struct forward_slot {
	u64 number, ts, end; /* of the last range that began with it */
	u32 pid, tid;
	u32 stack;	    /* 0: none is known */
	bool used, several; /* threads have it */
	const char *operation;
	size_t length;
};

/* ---- names ---- */

/* "AddmmBackward0": without what makes it a node. */
static bool strip_node(struct numbered *what)
{
	size_t length = what->length;

	while (length && isdigit((unsigned char)what->operation[length - 1]))
		length--;
	if (length <= strlen(NODE) ||
	    memcmp(what->operation + length - strlen(NODE), NODE, strlen(NODE)))
		return false;
	what->length = length - strlen(NODE);
	return true;
}

static bool take_apart(const char *name, struct numbered *ret_what)
{
	const char *sequence = strstr(name, SEQUENCE), *begin = sequence;
	struct numbered what = {0};
	char *end;

	if (!sequence || !isdigit((unsigned char)sequence[strlen(SEQUENCE)]))
		return false;
	errno = 0;
	what.number = strtoull(sequence + strlen(SEQUENCE), &end, 10);
	if (errno || (*end && *end != ','))
		return false;
	/* "aten::mm", "autograd::engine::evaluate_function: MmBackward0" */
	while (begin > name && begin[-1] != ':' && begin[-1] != ' ')
		begin--;
	what.operation = begin;
	what.length = (size_t)(sequence - begin);
	what.backward = strip_node(&what);
	*ret_what = what;
	return true;
}

static size_t skip_underscores(const char *name, size_t length, size_t at)
{
	while (at < length && name[at] == '_')
		at++;
	return at;
}

/* "native_layer_norm" and "NativeLayerNorm": as PyTorch makes one of the other (tools/autograd). */
static bool are_alike(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t i = skip_underscores(a, a_length, 0), j = skip_underscores(b, b_length, 0);

	while (i < a_length && j < b_length) {
		if (tolower((unsigned char)a[i]) != tolower((unsigned char)b[j]))
			return false;
		i = skip_underscores(a, a_length, i + 1);
		j = skip_underscores(b, b_length, j + 1);
	}
	return i == a_length && j == b_length;
}

/* ---- ranges of a thread ---- */

static int row_of(struct view_forwards *forwards, size_t index, struct forward_row **ret_row)
{
	size_t before = forwards->row_capacity;

	if (array_reserve(&forwards->rows, &forwards->row_capacity, index + 1) < 0)
		return -ENOMEM;
	if (forwards->row_capacity > before)
		memset(forwards->rows + before, 0,
		       (forwards->row_capacity - before) * sizeof(*forwards->rows));
	if (!forwards->rows[index])
		forwards->rows[index] = calloc(1, sizeof(**forwards->rows));
	*ret_row = forwards->rows[index];
	return *ret_row ? 0 : -ENOMEM;
}

static struct forward_row *known_row(const struct view_forwards *forwards, size_t index)
{
	return index < forwards->row_capacity ? forwards->rows[index] : NULL;
}

/* The innermost one at this moment; NULL: none, or not known. */
static const struct forward_range *innermost(const struct view_forwards *forwards, size_t index,
					     u64 ts)
{
	struct forward_row *row = known_row(forwards, index);

	if (!row || ts < row->unknown_until)
		return NULL;
	while (row->count && row->open[row->count - 1].end <= ts)
		row->count--;
	return row->count ? &row->open[row->count - 1] : NULL;
}

static struct forward_slot *slot_of(const struct view_forwards *forwards, u32 pid, u64 number)
{
	return &forwards->slots[(number ^ (u64)pid * 0x9e3779b1U) & (SLOTS - 1)];
}

static struct forward_slot *known_slot(const struct view_forwards *forwards, u32 pid, u64 number)
{
	struct forward_slot *slot = forwards->slots ? slot_of(forwards, pid, number) : NULL;

	return slot && slot->used && slot->pid == pid && slot->number == number ? slot : NULL;
}

/* It makes the node with this number, if none comes after it. */
static int note_forward(struct view_forwards *forwards, const struct view_event *event,
			const struct numbered *what)
{
	u32 pid = event->record->pid, tid = event->record->tid;
	struct forward_slot *slot;
	bool several;

	if (!forwards->slots)
		forwards->slots = calloc(SLOTS, sizeof(*forwards->slots));
	if (!forwards->slots)
		return -ENOMEM;
	slot = known_slot(forwards, pid, what->number);
	several = slot && (slot->several || slot->tid != tid);
	*slot_of(forwards, pid, what->number) = (struct forward_slot){
		.number = what->number,
		.ts = event->ts,
		.end = event->end,
		.pid = pid,
		.tid = tid,
		.used = true,
		.several = several,
		.operation = what->operation,
		.length = what->length,
	};
	return 0;
}

/* A range that lost its name may be of an operation that has the number of the last one. */
static void note_unnamed(const struct view_forwards *forwards, const struct view_event *event)
{
	const struct forward_row *row = known_row(forwards, event->row_index);
	struct forward_slot *slot =
		row ? known_slot(forwards, event->record->pid, row->last_number) : NULL;

	if (slot)
		slot->several = true;
}

static int note_range(struct view_forwards *forwards, const struct view_event *event)
{
	struct forward_row *row;
	struct numbered what;

	if (!event->record->name)
		note_unnamed(forwards, event);
	if (!take_apart(event->name, &what))
		return 0;
	if (row_of(forwards, event->row_index, &row))
		return -ENOMEM;
	(void)innermost(forwards, event->row_index, event->ts);
	if (row->count == DEPTH_MAX)
		row->unknown_until =
			event->end > row->unknown_until ? event->end : row->unknown_until;
	else
		row->open[row->count++] = (struct forward_range){event->ts, event->end, what};
	if (what.backward)
		return 0;
	row->last_number = what.number;
	return note_forward(forwards, event, &what);
}

/* ---- launches ---- */

static void find_forward(const struct view_forwards *forwards, const struct view_event *event,
			 struct view_within *within)
{
	const struct forward_range *range = innermost(forwards, event->row_index, event->ts);
	const struct forward_slot *slot;

	if (!range || !range->what.backward || forwards->has_losses)
		return;
	slot = known_slot(forwards, event->record->pid, range->what.number);
	if (!slot || slot->several ||
	    !are_alike(slot->operation, slot->length, range->what.operation, range->what.length))
		return;
	within->forward_stack = slot->stack;
	within->forward_node = range->what.operation;
}

void view_forwards_note_launch(struct view_forwards *forwards, const struct view_event *event)
{
	const struct forward_range *range;
	struct forward_slot *slot;

	if (!event->stack.stack || !forwards->slots)
		return;
	range = innermost(forwards, event->row_index, event->ts);
	slot = range && !range->what.backward
		       ? known_slot(forwards, event->record->pid, range->what.number)
		       : NULL;
	/* A later one has the number by now, or this is that one. */
	if (slot && slot->ts == range->ts && slot->tid == event->record->tid && !slot->stack)
		slot->stack = event->stack.stack;
}

/* One number for who waits and what went before. */
static int number_origin(struct view_forwards *forwards, struct view_within *within)
{
	const u64 *known;

	if (!within->waiter_stack && !within->forward_stack)
		return 0;
	known = map_find(&forwards->origins, within->waiter_stack, within->forward_stack);
	within->origin = known ? (u32)*known : (u32)forwards->origins.count + 1;
	return known ? 0
		     : map_set(&forwards->origins, within->waiter_stack, within->forward_stack,
			       within->origin);
}

int view_forwards_add(struct view_forwards *forwards, const struct view_event *event,
		      struct view_within *within)
{
	if (event->row->type != ROW_THREAD)
		return 0;
	if (event->kind->number == KIND_range)
		return note_range(forwards, event);
	if (event->kind->number != KIND_api)
		return 0;
	find_forward(forwards, event, within);
	return number_origin(forwards, within);
}

void view_forwards_init(struct view_forwards *forwards, const struct view *view)
{
	static const u8 losses[] = {VALUE_loss_reason_agent_ring_full,
				    VALUE_loss_reason_range_lost};

	*forwards = (struct view_forwards){.has_losses =
						   view_has_loss(view, losses, ARRAY_SIZE(losses))};
}

void view_forwards_free(struct view_forwards *forwards)
{
	for (size_t i = 0; i < forwards->row_capacity; i++)
		free(forwards->rows[i]);
	free(forwards->rows);
	free(forwards->slots);
	map_free(&forwards->origins);
	*forwards = (struct view_forwards){0};
}
