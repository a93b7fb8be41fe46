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

/*
 * Checks one record and copies it, converted, to out (room for RECORD_SIZE_MAX_BYTES, 8-byte aligned).
 * raw: raw->size_bytes are there, are a multiple of 8 and at least a header.
 * 1: done; 0: a kind that this build does not know; -EINVAL: damaged.
 */
int convert_record(const struct convert *convert, const struct record_header *raw,
		   struct record_header *out);

#endif
