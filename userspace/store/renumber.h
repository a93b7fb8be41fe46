/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ids of many sources -> dense numbers from 1 over all of them, one sequence per kind of fact; 0 is absent.
 * An id gets its number when it is first seen, in a fact or in a reference to it, so facts and references
 * may come in any order. One loop over a table made from record.def does it for every kind. The number of
 * ids of one source is capped: a target must not be able to fill our memory.
 */
#ifndef GPUPROBE_STORE_RENUMBER_H
#define GPUPROBE_STORE_RENUMBER_H

#include "store/schema.h"

#define RENUMBER_SOURCES_MAX  4096
#define RENUMBER_SOURCE_FACTS 1000000	    /* ids and facts without id, of one source */
#define RENUMBER_SOURCE_BYTES (256U << 20)  /* of facts of one source */

struct renumber;

/* What a number stands for. */
struct renumber_origin {
	u32 source;
	u32 id;
};

/* What one source has used of its share. */
struct renumber_usage {
	u64 facts;
	u64 fact_bytes;
};

int renumber_create(struct renumber **ret_renumber);
struct renumber *renumber_free(struct renumber *renumber);

/* Replaces the ids in a record (layout of this build, size checked) by their numbers, and enum values that
 * do not exist by absent. An id beyond the source's share becomes 0 and is counted.
 * 0, -ENOMEM, or -EINVAL when there are too many sources. */
int renumber_enter(struct renumber *renumber, struct record_header *record);
/* The same for what has been entered before; an id that was not becomes 0. False when not even the source
 * was. Any number of readers. */
bool renumber_apply(const struct renumber *renumber, struct record_header *record);

/* How many numbers a kind has; where one comes from. */
u32 renumber_count(const struct renumber *renumber, u16 kind);
struct renumber_origin renumber_origin(const struct renumber *renumber, u16 kind, u32 number);
/* Another number of the kind, that no id leads to; 0 without memory. */
u32 renumber_invent(struct renumber *renumber, u16 kind);
/* Ids that went over the share of their source. */
u64 renumber_capped(const struct renumber *renumber);
/* NULL before the source was entered. */
struct renumber_usage *renumber_usage(struct renumber *renumber, u32 source);

#endif
