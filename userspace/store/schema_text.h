/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of kinds as the text inside a capture: written from this build's tables, and parsed back into
 * tables of the same form, which is how a reader knows what another version wrote. The text is untrusted.
 */
#ifndef GPUPROBE_STORE_SCHEMA_TEXT_H
#define GPUPROBE_STORE_SCHEMA_TEXT_H

#include "base/err.h"
#include "base/text.h"
#include "store/schema.h"

/* Appends the table of this build, padded with newlines to a multiple of 8 bytes. */
void schema_text_write(struct text *text);

/* A parsed table. Its strings live in `text`. */
struct schema_table {
	char *text;
	struct schema_kind *kinds;
	size_t kind_count;
	size_t kind_capacity;
	struct schema_field *fields; /* of all kinds, each kind's together */
	size_t field_count;
	size_t field_capacity;
	struct schema_enum_value *values;
	size_t value_count;
	size_t value_capacity;
};

/* Kinds that contradict themselves (a field outside the record, an element of 3 bytes, ...) are left out,
 * as if the writer had not described them. -ENOMEM only. The table is the caller's, also on failure. */
int schema_text_parse(const char *string, size_t length, struct schema_table *table);
void schema_table_free(struct schema_table *table);

#endif
