/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The facts of a capture in memory, renumbered: by number for kinds with an id, else in the order of time.
 * They are the one thing of a capture that is kept whole, so every source has a share (renumber.h) and
 * repeats take none:
 *  - kinds with an id: the first fact of an id holds;
 *  - others: what identifies one are its pid, tid, name and its ID, TEXT and ENUM fields. One that equals
 *    the last of its identity in all but ts is dropped, one that differs in COUNT fields only replaces it
 *    (loss: the last count holds), any other comes after it (task: renamed).
 */
#ifndef GPUPROBE_STORE_FACTS_H
#define GPUPROBE_STORE_FACTS_H

#include "store/renumber.h"

struct facts;

int facts_create(struct renumber *renumber, struct facts **ret_facts);
struct facts *facts_free(struct facts *facts);

/* Copies a renumbered fact. 0 (also when it went over the share, which is counted) or -ENOMEM. */
int facts_add(struct facts *facts, const struct record_header *record);
/* After the last one: makes up the facts of ids that have none, sorts the others by ts. */
int facts_finish(struct facts *facts);

u64 facts_made_up(const struct facts *facts);
u64 facts_capped(const struct facts *facts);

const struct record_header *const *facts_list(const struct facts *facts, u16 kind,
					      size_t *ret_count);

#endif
