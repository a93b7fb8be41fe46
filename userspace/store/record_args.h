/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The arguments that an event may end in (TAIL ARGS of record.def), one after the other. */
#ifndef GPUPROBE_STORE_RECORD_ARGS_H
#define GPUPROBE_STORE_RECORD_ARGS_H

#include <stddef.h>

#include "store/schema.h"

/* What is left of them. */
struct record_args {
	const u8 *at;
	size_t size_bytes;
};

struct record_arg_value {
	enum record_arg_type type; /* RECORD_ARG_UNREADABLE also for a type that this build does not know */
	enum record_arg_group group;
	unsigned place;
	u64 number;	    /* of RECORD_ARG_SIGNED: cast it */
	const char *string; /* not terminated; the record's */
	size_t length_bytes;
};

/* None when the kind has no arguments. record: of this build's layout, as long as it says (convert_record() sees to it). */
struct record_args record_args_begin(const struct schema_kind *kind, const struct record_header *record);
/* False at the end, and where what follows is damaged. */
bool record_args_next(struct record_args *args, struct record_arg_value *ret_value);
/* Can all be read, to the end? The tail must be within the record. */
bool record_args_valid(const struct schema_kind *kind, const struct record_header *record);

/* Room for record_arg_name(). */
#define RECORD_ARG_NAME_BYTES 16
/* "arg0"; of the end "end.arg0". */
void record_arg_name(const struct record_arg_value *value, char ret_name[RECORD_ARG_NAME_BYTES]);
/* The reverse; false: it is no such name. */
bool record_arg_parse_name(const char *name, struct record_arg_value *ret_value);

/* Appends one behind the record, whose tail field counts it then. False: there is no room in RECORD_SIZE_MAX_BYTES, which
 * the memory behind record must have. */
bool record_args_add(const struct schema_kind *kind, struct record_header *record,
		     const struct record_arg_value *value);

#endif
