/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The order of events: ts, longest first (open is longest), pid, tid, kind. Ties are equal here; all who
 * sort keep the order of arrival then, so that every reader of a capture sees the same sequence. */
#ifndef GPUPROBE_STORE_RECORD_ORDER_H
#define GPUPROBE_STORE_RECORD_ORDER_H

#include "base/types.h"
#include "../bpf/record.h"

/* < 0, 0 or > 0. */
static inline int record_compare(const struct record_header *a, const struct record_header *b)
{
	if (a->ts != b->ts)
		return a->ts < b->ts ? -1 : 1;
	if (a->dur != b->dur)
		return a->dur > b->dur ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->kind > b->kind) - (a->kind < b->kind);
}

#endif
