/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records as another version wrote them -> records in the layout of this build: one plan per kind, made
 * once from the two tables of kinds. Fields are matched by name, enum values by tag; what this build does
 * not know is left out, what the writer did not know reads as absent.
 */
#ifndef GPUPROBE_STORE_CONVERT_H
#define GPUPROBE_STORE_CONVERT_H

#include "store/schema_text.h"

struct convert;

/* foreign: the writer's table, which must outlive the plan. */
int convert_create(const struct schema_table *foreign, struct convert **ret_convert);
struct convert *convert_free(struct convert *convert);

/* Where a record is put that the writer laid out in another way. Zero-initialise it; record is the caller's to free. */
struct convert_room {
	struct record_header *record;
	size_t capacity;
};

/*
 * Checks one record. *ret_record is raw itself, which nothing has changed, where the writer's layout is that of this
 * build, and a converted copy in room where it is not: valid until room is used again.
 * raw: raw->size_bytes are there, are a multiple of 8 and at least a header; 8-byte aligned.
 * 1: done; 0: a kind that this build does not know; -EINVAL: damaged; -ENOMEM.
 */
int convert_record(const struct convert *convert, struct record_header *raw,
		   struct convert_room *room, struct record_header **ret_record);

#endif
