/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/xplane/xplane_plane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/utf8.h"

/* Tags of fields that hold messages: (number << 3) | 2. */
#define TAG_SPACE_PLANE (1 << 3 | 2)
#define TAG_PLANE_LINE	(3 << 3 | 2)
#define TAG_PLANE_STAT	(6 << 3 | 2)

#define PS_PER_NS	     1000
#define POINTS_OF_PICOSECOND 200

/* The tag and length of a message of size_bytes. */
static size_t put_tag(u8 *to, u8 tag, u64 size_bytes)
{
	to[0] = tag;
	return 1 + protobuf_put_varint(to + 1, size_bytes);
}

static int append_message(struct text *text, const ProtobufCMessage *message)
{
	size_t size_bytes = protobuf_c_message_get_packed_size(message);
	_cleanup_free_ u8 *bytes = malloc(size_bytes + 1);

	if (!bytes)
		return -ENOMEM;
	protobuf_c_message_pack(message, bytes);
	text_append_bytes(text, bytes, size_bytes);
	return text->failed ? -ENOMEM : 0;
}

/* ---- strings ---- */

const char *xplane_counter_name(const char *string, struct text *scratch)
{
	const char *utf8 = text_utf8(string, scratch);
	size_t length = strlen(utf8);
	bool is_plain = true;

	for (size_t i = 0; i < length; i++)
		is_plain &= (u8)utf8[i] >= ' ' && utf8[i] != '"' && utf8[i] != '\\';
	if (is_plain)
		return utf8;
	if (utf8 == string) {
		text_clear(scratch);
		text_append_bytes(scratch, string, length);
	}
	if (scratch->failed)
		return "";
	for (size_t i = 0; i < length; i++) {
		char *c = &scratch->data[i];

		*c = *c == '"' ? '\'' : *c == '\\' ? '/' : (u8)*c < ' ' ? ' ' : *c;
	}
	return text_string(scratch);
}

/* ---- the plane ---- */

int xplane_plane_init(struct xplane_plane *plane, s64 id, const char *name)
{
	*plane = (struct xplane_plane){.id = id, .name = strdup(name)};
	return plane->name ? 0 : -ENOMEM;
}

void xplane_plane_free(struct xplane_plane *plane)
{
	for (size_t i = 0; i < plane->line_count; i++) {
		text_free(&plane->lines[i].name);
		spool_free(&plane->lines[i].events);
	}
	free(plane->lines);
	string_table_free(&plane->event_names);
	string_table_free(&plane->stat_names);
	text_free(&plane->packed);
	free((char *)plane->name);
	*plane = (struct xplane_plane){0};
}

struct xplane_line *xplane_plane_line(struct xplane_plane *plane, s64 id)
{
	struct xplane_line *line;

	if (array_reserve(&plane->lines, &plane->line_capacity, plane->line_count + 1) < 0)
		return NULL;
	line = &plane->lines[plane->line_count++];
	*line = (struct xplane_line){.id = id};
	return line;
}

s64 xplane_plane_stat(struct xplane_plane *plane, const char *name)
{
	s64 number = string_table_add(&plane->stat_names, name, strlen(name));

	return number < 0 ? 0 : number + 1;
}

static size_t place_of(const char *string)
{
	u64 address = (uintptr_t)string;

	return (address ^ address >> 9) % XPLANE_REMEMBERED;
}

s64 xplane_plane_constant(struct xplane_plane *plane, const char *name)
{
	size_t place = place_of(name);

	if (plane->remembered[place].string != name) {
		plane->remembered[place].id = xplane_plane_stat(plane, name);
		plane->remembered[place].string = plane->remembered[place].id ? name : NULL;
	}
	return plane->remembered[place].id;
}

int xplane_plane_add(struct xplane_plane *plane, const char *name, xplane_stat *stat)
{
	u8 tag[1 + PROTOBUF_VARINT_BYTES];

	stat->metadata_id = xplane_plane_stat(plane, name);
	if (!stat->metadata_id)
		return -ENOMEM;
	text_append_bytes(
		&plane->packed, tag,
		put_tag(tag, TAG_PLANE_STAT, protobuf_c_message_get_packed_size(&stat->base)));
	return append_message(&plane->packed, &stat->base);
}

int xplane_plane_add_string(struct xplane_plane *plane, const char *name, const char *value)
{
	struct text scratch _cleanup_text_ = {0};
	xplane_stat stat = TENSORFLOW__PROFILER__XSTAT__INIT;

	stat.value_case = TENSORFLOW__PROFILER__XSTAT__VALUE_STR_VALUE;
	stat.str_value = (char *)text_utf8(value, &scratch);
	return xplane_plane_add(plane, name, &stat);
}

int xplane_plane_add_u64(struct xplane_plane *plane, const char *name, u64 value)
{
	xplane_stat stat = TENSORFLOW__PROFILER__XSTAT__INIT;

	stat.value_case = TENSORFLOW__PROFILER__XSTAT__VALUE_UINT64_VALUE;
	stat.uint64_value = value;
	return xplane_plane_add(plane, name, &stat);
}

int xplane_plane_add_s64(struct xplane_plane *plane, const char *name, s64 value)
{
	xplane_stat stat = TENSORFLOW__PROFILER__XSTAT__INIT;

	stat.value_case = TENSORFLOW__PROFILER__XSTAT__VALUE_INT64_VALUE;
	stat.int64_value = value;
	return xplane_plane_add(plane, name, &stat);
}

int xplane_plane_add_double(struct xplane_plane *plane, const char *name, double value)
{
	xplane_stat stat = TENSORFLOW__PROFILER__XSTAT__INIT;

	stat.value_case = TENSORFLOW__PROFILER__XSTAT__VALUE_DOUBLE_VALUE;
	stat.double_value = value;
	return xplane_plane_add(plane, name, &stat);
}

int xplane_plane_add_bytes(struct xplane_plane *plane, s64 id, const char *name,
			   const char *stat_name, const struct text *bytes)
{
	Tensorflow__Profiler__XPlane message = TENSORFLOW__PROFILER__XPLANE__INIT;
	Tensorflow__Profiler__XPlane__EventMetadataEntry
		entry = TENSORFLOW__PROFILER__XPLANE__EVENT_METADATA_ENTRY__INIT,
		*entries = &entry;
	Tensorflow__Profiler__XEventMetadata metadata = TENSORFLOW__PROFILER__XEVENT_METADATA__INIT;
	xplane_stat stat = TENSORFLOW__PROFILER__XSTAT__INIT, *stats = &stat;

	stat.metadata_id = xplane_plane_stat(plane, stat_name);
	if (!stat.metadata_id)
		return -ENOMEM;
	stat.value_case = TENSORFLOW__PROFILER__XSTAT__VALUE_BYTES_VALUE;
	stat.bytes_value = (ProtobufCBinaryData){bytes->length, (u8 *)bytes->data};
	metadata.id = entry.key = id;
	metadata.name = (char *)name;
	metadata.n_stats = 1;
	metadata.stats = &stats;
	entry.value = &metadata;
	message.n_event_metadata = 1;
	message.event_metadata = &entries;
	return append_message(&plane->packed, &message.base);
}

/* ---- events ---- */

/* Another name may have come to the same address: looking at it costs less than looking it up. */
static s64 number_of_name(struct xplane_plane *plane, const char *name)
{
	size_t *last = &plane->last_names[place_of(name)];
	s64 number;

	if (*last && strcmp(plane->event_names.strings[*last - 1], name) == 0)
		return *last - 1;
	number = string_table_add(&plane->event_names, name, strlen(name));
	if (number >= 0)
		*last = number + 1;
	return number;
}

bool xplane_event_begin(struct xplane_event *event, struct xplane_plane *plane, const char *name,
			u64 offset_ns, u64 dur_ns)
{
	s64 number = number_of_name(plane, name);

	tensorflow__profiler__xevent__init(&event->message);
	event->message.metadata_id = number + 1;
	event->message.offset_ps = offset_ns * PS_PER_NS;
	event->message.duration_ps = dur_ns * PS_PER_NS;
	event->message.stats = event->list;
	return number >= 0;
}

xplane_stat *xplane_event_stat(struct xplane_event *event, s64 id)
{
	size_t count = event->message.n_stats;

	if (count == XPLANE_STATS_MAX)
		return NULL;
	tensorflow__profiler__xstat__init(&event->stats[count]);
	event->stats[count].metadata_id = id;
	event->list[count] = &event->stats[count];
	event->message.n_stats++;
	return event->list[count];
}

/* Room for a stat without a value; ret_stat NULL: the event has no room. false: no memory. */
static bool begin_stat(struct xplane_event *event, struct xplane_plane *plane, const char *name,
		       xplane_stat **ret_stat)
{
	s64 id = xplane_plane_constant(plane, name);

	*ret_stat = id ? xplane_event_stat(event, id) : NULL;
	return id != 0;
}

bool xplane_event_add_s64(struct xplane_event *event, struct xplane_plane *plane, const char *name,
			  s64 value)
{
	xplane_stat *stat;

	if (!begin_stat(event, plane, name, &stat))
		return false;
	if (stat) {
		stat->value_case = TENSORFLOW__PROFILER__XSTAT__VALUE_INT64_VALUE;
		stat->int64_value = value;
	}
	return true;
}

bool xplane_event_add_double(struct xplane_event *event, struct xplane_plane *plane,
			     const char *name, double value)
{
	xplane_stat *stat;

	if (!begin_stat(event, plane, name, &stat))
		return false;
	if (stat) {
		stat->value_case = TENSORFLOW__PROFILER__XSTAT__VALUE_DOUBLE_VALUE;
		stat->double_value = value;
	}
	return true;
}

bool xplane_event_add_string(struct xplane_event *event, struct xplane_plane *plane,
			     const char *name, const char *value)
{
	xplane_stat *stat;

	if (!begin_stat(event, plane, name, &stat))
		return false;
	if (stat) {
		stat->value_case = TENSORFLOW__PROFILER__XSTAT__VALUE_STR_VALUE;
		stat->str_value = (char *)value;
	}
	return true;
}

bool xplane_event_add_reference(struct xplane_event *event, struct xplane_plane *plane,
				const char *name, const char *value)
{
	s64 reference = xplane_plane_constant(plane, value);
	xplane_stat *stat;

	if (!reference || !begin_stat(event, plane, name, &stat))
		return false;
	if (stat) {
		stat->value_case = TENSORFLOW__PROFILER__XSTAT__VALUE_REF_VALUE;
		stat->ref_value = reference;
	}
	return true;
}

/* Other lines of the process have events at the same moment too: not all of the 256. */
static s64 shift_of_point(struct xplane_line *line, const Tensorflow__Profiler__XEvent *event)
{
	u64 steps;

	if (event->duration_ps)
		return 0;
	line->moment_points =
		(u64)event->offset_ps == line->moment_ps ? line->moment_points + 1 : 0;
	line->moment_ps = event->offset_ps;
	steps = line->moment_points / POINTS_OF_PICOSECOND;
	return steps < PS_PER_NS ? steps : PS_PER_NS - 1;
}

int xplane_line_add(struct xplane_line *line, struct spool_store *store, struct xplane_event *event,
		    struct err *err)
{
	struct xplane_event_sizes sizes;
	size_t size_bytes;
	u8 *room;
	int result;

	event->message.offset_ps += shift_of_point(line, &event->message);
	size_bytes = xplane_event_measure(&event->message, &sizes);
	result = spool_reserve(&line->events, store, size_bytes, &room, err);
	if (result < 0)
		return result;
	xplane_event_pack(&event->message, &sizes, room);
	line->event_count++;
	return 0;
}

/* ---- the file ---- */

/* What stands in front of a line's events. */
static int pack_line_head(const struct xplane_line *line, struct text *ret_head)
{
	Tensorflow__Profiler__XLine message = TENSORFLOW__PROFILER__XLINE__INIT;

	message.id = line->id;
	message.display_id = line->display_id;
	message.name = (char *)text_string(&line->name);
	text_clear(ret_head);
	return append_message(ret_head, &message.base);
}

struct metadata {
	Tensorflow__Profiler__XEventMetadata *events;
	Tensorflow__Profiler__XPlane__EventMetadataEntry *event_entries, **event_list;
	Tensorflow__Profiler__XStatMetadata *stats;
	Tensorflow__Profiler__XPlane__StatMetadataEntry *stat_entries, **stat_list;
};

static void metadata_free(struct metadata *metadata)
{
	free(metadata->events);
	free(metadata->event_entries);
	free(metadata->event_list);
	free(metadata->stats);
	free(metadata->stat_entries);
	free(metadata->stat_list);
}

static int metadata_allocate(struct metadata *metadata, size_t events, size_t stats)
{
	*metadata = (struct metadata){
		.events = calloc(events + 1, sizeof(*metadata->events)),
		.event_entries = calloc(events + 1, sizeof(*metadata->event_entries)),
		.event_list = calloc(events + 1, sizeof(*metadata->event_list)),
		.stats = calloc(stats + 1, sizeof(*metadata->stats)),
		.stat_entries = calloc(stats + 1, sizeof(*metadata->stat_entries)),
		.stat_list = calloc(stats + 1, sizeof(*metadata->stat_list)),
	};
	return metadata->events && metadata->event_entries && metadata->event_list &&
			       metadata->stats && metadata->stat_entries && metadata->stat_list
		       ? 0
		       : -ENOMEM;
}

static void metadata_fill(struct metadata *metadata, const struct string_table *events,
			  const struct string_table *stats)
{
	for (size_t i = 0; i < events->count; i++) {
		tensorflow__profiler__xevent_metadata__init(&metadata->events[i]);
		metadata->events[i].id = i + 1;
		metadata->events[i].name = events->strings[i];
		tensorflow__profiler__xplane__event_metadata_entry__init(
			&metadata->event_entries[i]);
		metadata->event_entries[i].key = i + 1;
		metadata->event_entries[i].value = &metadata->events[i];
		metadata->event_list[i] = &metadata->event_entries[i];
	}
	for (size_t i = 0; i < stats->count; i++) {
		tensorflow__profiler__xstat_metadata__init(&metadata->stats[i]);
		metadata->stats[i].id = i + 1;
		metadata->stats[i].name = stats->strings[i];
		tensorflow__profiler__xplane__stat_metadata_entry__init(&metadata->stat_entries[i]);
		metadata->stat_entries[i].key = i + 1;
		metadata->stat_entries[i].value = &metadata->stats[i];
		metadata->stat_list[i] = &metadata->stat_entries[i];
	}
}

/* All of the plane but its lines. */
static int pack_head(const struct xplane_plane *plane, struct text *ret_head)
{
	Tensorflow__Profiler__XPlane message = TENSORFLOW__PROFILER__XPLANE__INIT;
	struct metadata metadata;
	int result =
		metadata_allocate(&metadata, plane->event_names.count, plane->stat_names.count);

	if (result == 0) {
		metadata_fill(&metadata, &plane->event_names, &plane->stat_names);
		message.id = plane->id;
		message.name = (char *)plane->name;
		message.n_event_metadata = plane->event_names.count;
		message.event_metadata = metadata.event_list;
		message.n_stat_metadata = plane->stat_names.count;
		message.stat_metadata = metadata.stat_list;
		text_clear(ret_head);
		result = append_message(ret_head, &message.base);
	}
	metadata_free(&metadata);
	text_append_bytes(ret_head, plane->packed.data, plane->packed.length);
	return ret_head->failed ? -ENOMEM : result;
}

static int line_bytes(const struct xplane_line *line, struct text *head, u64 *ret_size_bytes)
{
	int result = pack_line_head(line, head);

	*ret_size_bytes = head->length + line->events.size_bytes;
	return result;
}

/* Without the plane's own tag and length. */
static int plane_bytes(const struct xplane_plane *plane, const struct text *head,
		       u64 *ret_size_bytes)
{
	struct text line_head _cleanup_text_ = {0};
	u64 total_bytes = head->length, size_bytes;
	int result = 0;

	for (size_t i = 0; i < plane->line_count && result == 0; i++) {
		if (!plane->lines[i].event_count)
			continue;
		result = line_bytes(&plane->lines[i], &line_head, &size_bytes);
		total_bytes += 1 + protobuf_varint_bytes(size_bytes) + size_bytes;
	}
	*ret_size_bytes = total_bytes;
	return result;
}

int xplane_plane_pack(struct xplane_plane *plane, struct text *ret_head, u64 *ret_size_bytes,
		      struct err *err)
{
	u64 size_bytes = 0;
	int result = pack_head(plane, ret_head);

	if (result == 0)
		result = plane_bytes(plane, ret_head, &size_bytes);
	if (result < 0)
		return err_errno(err, result, "can't make plane %s", plane->name);
	*ret_size_bytes = 1 + protobuf_varint_bytes(size_bytes) + size_bytes;
	return 0;
}

static int write_line(const struct xplane_line *line, const struct spool_store *store,
		      spool_callback write, void *data, struct err *err)
{
	struct text head _cleanup_text_ = {0};
	u8 tag[1 + PROTOBUF_VARINT_BYTES];
	u64 size_bytes;
	int result = line_bytes(line, &head, &size_bytes);

	if (result < 0)
		return err_errno(err, result, "can't write a line");
	result = write(data, tag, put_tag(tag, TAG_PLANE_LINE, size_bytes));
	if (result >= 0 && head.length)
		result = write(data, head.data, head.length);
	return result < 0 ? result : spool_read(&line->events, store, write, data, err);
}

int xplane_plane_write(const struct xplane_plane *plane, const struct text *head,
		       const struct spool_store *store, spool_callback write, void *data,
		       struct err *err)
{
	u8 tag[1 + PROTOBUF_VARINT_BYTES];
	u64 size_bytes;
	int result = plane_bytes(plane, head, &size_bytes);

	if (result < 0)
		return err_errno(err, result, "can't write plane %s", plane->name);
	result = write(data, tag, put_tag(tag, TAG_SPACE_PLANE, size_bytes));
	if (result >= 0 && head->length)
		result = write(data, head->data, head->length);
	for (size_t i = 0; i < plane->line_count && result >= 0; i++)
		if (plane->lines[i].event_count)
			result = write_line(&plane->lines[i], store, write, data, err);
	return result < 0 ? result : 0;
}
