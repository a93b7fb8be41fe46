/* SPDX-License-Identifier: MIT */
#include "absent.h"

#define KIND(number, tag, shape, row, meaning)            \
	static const struct record_##tag absent_##tag = { \
		.header = {.size_bytes = sizeof(struct record_##tag), .kind = number},
/* No ARRAY: one is absent when it is all 0. */
#define FIELD(tag, type, name, unit, reference, absent, meaning) .name = (type)absent,
#define END(tag) \
	}        \
	;
#include "../../bpf/record.def"

#define KIND(number, tag, shape, row, meaning) [number] = &absent_##tag.header,
static const struct record_header *const records[] = {
#include "../../bpf/record.def"
};

const struct record_header *absent_record(u32 kind)
{
	return records[kind];
}
