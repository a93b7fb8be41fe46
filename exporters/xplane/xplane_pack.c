/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/xplane/xplane_pack.h"

#include <string.h>

/* Field number and wire type, as in exporters/xplane/xplane.proto. */
enum {
	TAG_LINE_EVENT = 4 << 3 | 2,
	TAG_EVENT_METADATA_ID = 1 << 3,
	TAG_EVENT_OFFSET_PS = 2 << 3,
	TAG_EVENT_DURATION_PS = 3 << 3,
	TAG_EVENT_STAT = 4 << 3 | 2,
	TAG_STAT_METADATA_ID = 1 << 3,
	TAG_STAT_DOUBLE = 2 << 3 | 1,
	TAG_STAT_UINT64 = 3 << 3,
	TAG_STAT_INT64 = 4 << 3,
	TAG_STAT_STRING = 5 << 3 | 2,
	TAG_STAT_REFERENCE = 7 << 3,
};

/* ---- fields; those of a message that are 0 are left out, a value never is ---- */

static size_t number_bytes(u64 value)
{
	return value ? 1 + xplane_varint_bytes(value) : 0;
}

static u8 *put_tagged(u8 *to, u8 tag, u64 value)
{
	*to++ = tag;
	return to + xplane_put_varint(to, value);
}

static u8 *put_number(u8 *to, u8 tag, u64 value)
{
	return value ? put_tagged(to, tag, value) : to;
}

static u8 *put_double(u8 *to, double value)
{
	*to++ = TAG_STAT_DOUBLE;
	memcpy(to, &value,
	       sizeof(value)); /* little-endian, as all machines that this is built for */
	return to + sizeof(value);
}

static u8 *put_string(u8 *to, const char *string, size_t length_bytes)
{
	to = put_tagged(to, TAG_STAT_STRING, length_bytes);
	memcpy(to, string, length_bytes);
	return to + length_bytes;
}

/* ---- a stat ---- */

static size_t value_bytes(const xplane_stat *stat, size_t *ret_string_bytes)
{
	switch (stat->value_case) {
	case TENSORFLOW__PROFILER__XSTAT__VALUE_DOUBLE_VALUE:
		return 1 + sizeof(stat->double_value);
	case TENSORFLOW__PROFILER__XSTAT__VALUE_UINT64_VALUE:
		return 1 + xplane_varint_bytes(stat->uint64_value);
	case TENSORFLOW__PROFILER__XSTAT__VALUE_INT64_VALUE:
		return 1 + xplane_varint_bytes((u64)stat->int64_value);
	case TENSORFLOW__PROFILER__XSTAT__VALUE_REF_VALUE:
		return 1 + xplane_varint_bytes(stat->ref_value);
	case TENSORFLOW__PROFILER__XSTAT__VALUE_STR_VALUE:
		*ret_string_bytes = strlen(stat->str_value);
		return 1 + xplane_varint_bytes(*ret_string_bytes) + *ret_string_bytes;
	default:
		return 0;
	}
}

static u8 *put_value(u8 *to, const xplane_stat *stat, size_t string_bytes)
{
	switch (stat->value_case) {
	case TENSORFLOW__PROFILER__XSTAT__VALUE_DOUBLE_VALUE:
		return put_double(to, stat->double_value);
	case TENSORFLOW__PROFILER__XSTAT__VALUE_UINT64_VALUE:
		return put_tagged(to, TAG_STAT_UINT64, stat->uint64_value);
	case TENSORFLOW__PROFILER__XSTAT__VALUE_INT64_VALUE:
		return put_tagged(to, TAG_STAT_INT64, (u64)stat->int64_value);
	case TENSORFLOW__PROFILER__XSTAT__VALUE_REF_VALUE:
		return put_tagged(to, TAG_STAT_REFERENCE, stat->ref_value);
	case TENSORFLOW__PROFILER__XSTAT__VALUE_STR_VALUE:
		return put_string(to, stat->str_value, string_bytes);
	default:
		return to;
	}
}

/* ---- an event ---- */

size_t xplane_event_measure(const Tensorflow__Profiler__XEvent *event,
			    struct xplane_event_sizes *ret_sizes)
{
	size_t total = number_bytes((u64)event->metadata_id) + number_bytes((u64)event->offset_ps) +
		       number_bytes((u64)event->duration_ps);

	for (size_t i = 0; i < event->n_stats; i++) {
		const xplane_stat *stat = event->stats[i];
		size_t stat_bytes = number_bytes((u64)stat->metadata_id) +
				    value_bytes(stat, &ret_sizes->string_bytes[i]);

		ret_sizes->stat_bytes[i] = stat_bytes;
		total += 1 + xplane_varint_bytes(stat_bytes) + stat_bytes;
	}
	ret_sizes->event_bytes = total;
	return 1 + xplane_varint_bytes(total) + total;
}

void xplane_event_pack(const Tensorflow__Profiler__XEvent *event,
		       const struct xplane_event_sizes *sizes, u8 *to)
{
	to = put_tagged(to, TAG_LINE_EVENT, sizes->event_bytes);
	to = put_number(to, TAG_EVENT_METADATA_ID, (u64)event->metadata_id);
	to = put_number(to, TAG_EVENT_OFFSET_PS, (u64)event->offset_ps);
	to = put_number(to, TAG_EVENT_DURATION_PS, (u64)event->duration_ps);
	for (size_t i = 0; i < event->n_stats; i++) {
		const xplane_stat *stat = event->stats[i];

		to = put_tagged(to, TAG_EVENT_STAT, sizes->stat_bytes[i]);
		to = put_number(to, TAG_STAT_METADATA_ID, (u64)stat->metadata_id);
		to = put_value(to, stat, sizes->string_bytes[i]);
	}
}
