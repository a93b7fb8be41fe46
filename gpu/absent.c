#include "absent.h"

#define KIND(number, tag, shape, row, meaning)            \
	static const struct record_##tag absent_##tag = { \
		.header = {.size_bytes = sizeof(struct record_##tag), .kind = number},
#define FIELD(tag, type, name, unit, reference, absent, meaning) .name = (type)absent,
/* An array is absent when it is all 0. */
#define ARRAY(tag, type, name, count, unit, reference, absent, meaning)
#define TAIL(tag, tail_shape)
#define END(tag) \
	}        \
	;
#define ENUM_VALUE(name, number, tag, meaning)
#include "../bpf/record.def"
#undef KIND
#undef FIELD
#undef ARRAY
#undef TAIL
#undef END

#define KIND(number, tag, shape, row, meaning) [number] = &absent_##tag.header,
#define FIELD(tag, type, name, unit, reference, absent, meaning)
#define ARRAY(tag, type, name, count, unit, reference, absent, meaning)
#define TAIL(tag, tail_shape)
#define END(tag)
static const struct record_header *const records[] = {
#include "../bpf/record.def"
};

const struct record_header *absent_record(u32 kind)
{
	return records[kind];
}
