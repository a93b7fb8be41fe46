/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/xplane/xplane_pack.h"

/* Field number and wire type, as in exporters/xplane/xplane.proto. */
enum {
	TAG_LINE_EVENT = PROTOBUF_TAG(4, PROTOBUF_LENGTH),
	TAG_EVENT_METADATA_ID = PROTOBUF_TAG(1, PROTOBUF_VARINT),
	TAG_EVENT_OFFSET_PS = PROTOBUF_TAG(2, PROTOBUF_VARINT),
	TAG_EVENT_DURATION_PS = PROTOBUF_TAG(3, PROTOBUF_VARINT),
	TAG_EVENT_STAT = PROTOBUF_TAG(4, PROTOBUF_LENGTH),
	TAG_STAT_METADATA_ID = PROTOBUF_TAG(1, PROTOBUF_VARINT),
	TAG_STAT_DOUBLE = PROTOBUF_TAG(2, PROTOBUF_FIXED64),
	TAG_STAT_UINT64 = PROTOBUF_TAG(3, PROTOBUF_VARINT),
	TAG_STAT_INT64 = PROTOBUF_TAG(4, PROTOBUF_VARINT),
	TAG_STAT_STRING = PROTOBUF_TAG(5, PROTOBUF_LENGTH),
	TAG_STAT_REFERENCE = PROTOBUF_TAG(7, PROTOBUF_VARINT),
};

/* ---- fields; those of a message that are 0 are left out, a value never is ---- */

static size_t number_bytes(u64 value)
{
	return value ? 1 + protobuf_varint_bytes(value) : 0;
}

static u8 *put_number(u8 *to, u8 tag, u64 value)
{
	return value ? protobuf_put_number(to, tag, value) : to;
}

/* ---- a stat ---- */

static size_t value_bytes(const xplane_stat *stat, size_t *ret_string_bytes)
{
	switch (stat->value_case) {
	case TENSORFLOW__PROFILER__XSTAT__VALUE_DOUBLE_VALUE:
		return 1 + sizeof(stat->double_value);
	case TENSORFLOW__PROFILER__XSTAT__VALUE_UINT64_VALUE:
		return 1 + protobuf_varint_bytes(stat->uint64_value);
	case TENSORFLOW__PROFILER__XSTAT__VALUE_INT64_VALUE:
		return 1 + protobuf_varint_bytes((u64)stat->int64_value);
	case TENSORFLOW__PROFILER__XSTAT__VALUE_REF_VALUE:
		return 1 + protobuf_varint_bytes(stat->ref_value);
	case TENSORFLOW__PROFILER__XSTAT__VALUE_STR_VALUE:
		*ret_string_bytes = strlen(stat->str_value);
		return 1 + protobuf_varint_bytes(*ret_string_bytes) + *ret_string_bytes;
	default:
		return 0;
	}
}

static u8 *put_value(u8 *to, const xplane_stat *stat, size_t string_bytes)
{
	switch (stat->value_case) {
	case TENSORFLOW__PROFILER__XSTAT__VALUE_DOUBLE_VALUE:
		return protobuf_put_fixed64(to, TAG_STAT_DOUBLE, &stat->double_value);
	case TENSORFLOW__PROFILER__XSTAT__VALUE_UINT64_VALUE:
		return protobuf_put_number(to, TAG_STAT_UINT64, stat->uint64_value);
	case TENSORFLOW__PROFILER__XSTAT__VALUE_INT64_VALUE:
		return protobuf_put_number(to, TAG_STAT_INT64, (u64)stat->int64_value);
	case TENSORFLOW__PROFILER__XSTAT__VALUE_REF_VALUE:
		return protobuf_put_number(to, TAG_STAT_REFERENCE, stat->ref_value);
	case TENSORFLOW__PROFILER__XSTAT__VALUE_STR_VALUE:
		return protobuf_put_bytes(to, TAG_STAT_STRING, stat->str_value, string_bytes);
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
		total += 1 + protobuf_varint_bytes(stat_bytes) + stat_bytes;
	}
	ret_sizes->event_bytes = total;
	return 1 + protobuf_varint_bytes(total) + total;
}

void xplane_event_pack(const Tensorflow__Profiler__XEvent *event,
		       const struct xplane_event_sizes *sizes, u8 *to)
{
	to = protobuf_put_number(to, TAG_LINE_EVENT, sizes->event_bytes);
	to = put_number(to, TAG_EVENT_METADATA_ID, (u64)event->metadata_id);
	to = put_number(to, TAG_EVENT_OFFSET_PS, (u64)event->offset_ps);
	to = put_number(to, TAG_EVENT_DURATION_PS, (u64)event->duration_ps);
	for (size_t i = 0; i < event->n_stats; i++) {
		const xplane_stat *stat = event->stats[i];

		to = protobuf_put_number(to, TAG_EVENT_STAT, sizes->stat_bytes[i]);
		to = put_number(to, TAG_STAT_METADATA_ID, (u64)stat->metadata_id);
		to = put_value(to, stat, sizes->string_bytes[i]);
	}
}
