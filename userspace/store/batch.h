/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records collected between two writes: facts in their order, everything else to be sorted. The drain
 * thread and the importers fill it, the writer writes it. Not shared between threads: handed on.
 */
#ifndef GPUPROBE_STORE_BATCH_H
#define GPUPROBE_STORE_BATCH_H

#include "store/schema.h"

struct batch; /* reusable */

int batch_create(struct batch **ret_batch);
/* Copies one record (header->size_bytes bytes, a multiple of 8, at least the header; the caller has
 * checked that they are there). 0 or -ENOMEM. A kind whose shape is FACT goes to the facts. */
int batch_add(struct batch *batch, const struct record_header *record);
/* By (ts, longest first, pid, tid, kind, order of arrival). */
void batch_sort(struct batch *batch);
void batch_clear(struct batch *batch);
size_t batch_size_bytes(const struct batch *batch);
u64 batch_event_count(const struct batch *batch);
/* The facts, one record after the other, in the order of their arrival. */
const void *batch_facts(const struct batch *batch, size_t *ret_size_bytes);
/* The event in place index: in order of arrival, or sorted after batch_sort(). */
const struct record_header *batch_event(const struct batch *batch, size_t index);
/* NULL is allowed; returns NULL. */
struct batch *batch_free(struct batch *batch);

/* ---- building facts: every producer in userspace uses these --------------------------------------- */

/* Adds a text fact {source, id}. Strings are cut at 60,000 bytes. */
int batch_add_text(struct batch *batch, u32 source, u32 id, const char *string, size_t length);

struct string_table;

/* Hands out text ids for one source, sending each string once. Zero-initialise but for source. */
struct text_ids {
	u32 source;
	struct string_table *table; /* its own; NULL before the first string */
	u32 base; /* it hands out ids above this one; those up to it the caller has given itself */
	u32 sent;
};

/* Id of the string in ids->source; adds its text fact to batch when it is new. 0 for NULL or "". */
int text_ids_get(struct text_ids *ids, struct batch *batch, const char *string, u32 *ret_id);
void text_ids_free(struct text_ids *ids);

#endif
