/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON values -> the values of record fields, by the unit of the field. Only for import/ndjson.c. */
#ifndef GPUPROBE_IMPORT_NDJSON_VALUES_H
#define GPUPROBE_IMPORT_NDJSON_VALUES_H

#include <jansson.h>

#include "base/err.h"
#include "base/map.h"
#include "store/batch.h"

/* The labels of one kind of fact: what stands in the text for its ids. */
struct import_labels {
	struct string_table table; /* id minus 1 */
	bool *has_fact;
	size_t has_fact_capacity;
};

/* One id space. */
struct import_source {
	u32 source;
	struct text_ids texts;
	struct string_table stacks; /* by their end and addresses, as bytes; id minus 1 */
	struct import_labels *labels; /* by the place of the kind in schema_kinds() */
};

/* Where a value is, for messages, and where the facts go that it needs. */
struct import_context {
	const char *path;
	u64 line;
	struct batch *batch;
	struct import_source *source;
	u8 stack_end, stack_guessed; /* of the stack of the line: fields of its fact */
	u64 stack_guessed_first, stack_guessed_rest;
};

/* Sets the field (header field or own) of the record to the JSON value. */
int import_set_field(struct import_context *context, const struct schema_kind *kind,
		     const struct schema_field *field, json_t *value, struct record_header *record,
		     struct err *err);
/* Appends the arguments of the JSON object "args" to the record, which has room for RECORD_SIZE_MAX_BYTES and all its fields. */
int import_set_args(struct import_context *context, const struct schema_kind *kind, json_t *args,
		    struct record_header *record, struct err *err);
/* Id of a label, new or known. */
int import_label_id(struct import_context *context, const struct schema_kind *kind,
		    const char *label, size_t length, u32 *ret_id);
/* "PATH:LINE: " and the message; -EINVAL. */
int import_error(const struct import_context *context, struct err *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
