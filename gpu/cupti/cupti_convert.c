/* SPDX-License-Identifier: MIT */
#include "cupti_convert.h"

#include <string.h>

#include "../base/absent.h"
#include "cupti_managed.h"

#define NOT_KNOWN	     0xffffffffU
#define VERSION_INVALID_IS_0 130200 /* ids of contexts and streams that there are not */
#define CALLBACK_NAME_BYTES  128

/* Fields of records, read and written as numbers. */
typedef u64 may_alias_u64 __attribute__((may_alias, aligned(1)));
typedef u32 may_alias_u32 __attribute__((may_alias, aligned(1)));
typedef u16 may_alias_u16 __attribute__((may_alias, aligned(1)));

enum how {
	HOW_COPY,
	HOW_ID,
	HOW_DEVICE,
	HOW_DEVICE_OF,
	HOW_STREAM,
	HOW_TEXT,
	HOW_CALLBACK,
	HOW_TIME,
	HOW_PLUS_1,
	HOW_ASYNC,
	HOW_YES_NO,
	HOW_OVERHEAD,
	HOW_BYTES,
	HOW_CONTEXT,
	HOW_INSTRUCTION,
	HOW_ONE,
};

#define TYPE(type) (1 << VALUE_migration_type_##type)

/* Values of a number in CUPTI's records, a bit each, with which something holds. */
enum values {
	/* CUpti_ActivityEnvironmentKind */
	VALUES_SPEED = 1 << 1,
	VALUES_TEMPERATURE = 1 << 2,
	VALUES_POWER = 1 << 3,
	VALUES_COOLING = 1 << 4,
	VALUES_LOCAL_POOL = 1 << 1, /* CUpti_ActivityMemoryPoolType */
	VALUES_THREAD = 1 << 2,	    /* CUpti_ActivityObjectKind */
	/* CUpti_ActivityUnifiedMemoryCounterKind, the numbers of which are ours */
	VALUES_MIGRATION_MOVES =
		TYPE(host_to_device) | TYPE(device_to_host) | TYPE(device_to_device),
	VALUES_MIGRATION_LASTS = VALUES_MIGRATION_MOVES | TYPE(gpu_fault) | TYPE(throttling),
	VALUES_MIGRATION_FROM = VALUES_MIGRATION_LASTS | TYPE(remote_map),
	VALUES_MIGRATION_TO = VALUES_MIGRATION_MOVES | TYPE(remote_map),
	VALUES_MIGRATION_CPU_FAULTS = TYPE(cpu_faults),
	VALUES_MIGRATION_GPU_FAULT = TYPE(gpu_fault),
};

enum times { TIMES_NONE, TIMES_SPAN, TIMES_POINT };

/* Holds where the u32 at this offset has one of the values; no values: always. */
struct condition {
	u8 at;
	u16 values;
};

struct field {
	struct condition condition;
	u16 source;
	u8 source_bytes;
	u8 how;
	u16 destination;
	u8 destination_bytes;
};

struct layout {
	const struct field *fields;
	u16 field_count;
	u16 kind; /* of our record */
	u16 bytes;
	u8 start, end;
	u8 times;
	struct condition lasts;
};

#define LAYOUT(family, tag, bytes, start, end, times, header) \
	typedef struct record_##tag destination_##family;     \
	static const struct field fields_##family[] = {
#define FIELD_IF(family, offset, bytes, name, how, ...) \
	{{__VA_ARGS__},                                 \
	 offset,                                        \
	 bytes,                                         \
	 HOW_##how,                                     \
	 offsetof(destination_##family, name),          \
	 sizeof(((destination_##family *)NULL)->name)},
#define FIELD(family, offset, bytes, member, name, how) \
	FIELD_IF(family, offset, bytes, name, how, 0)
#define WHERE(family, offset, bytes, member, name, how, at, of, values) \
	FIELD_IF(family, offset, bytes, name, how, at, VALUES_##values)
#define END(family) \
	}           \
	;
#include "cupti_layout.def"
#undef FIELD_IF
#undef TYPE

#define LAYOUT(family, tag, first_bytes, start_at, end_at, how, header)                           \
	static const struct layout layout_##family = {.fields = fields_##family,                  \
						      .field_count = ARRAY_SIZE(fields_##family), \
						      .kind = KIND_##tag,                         \
						      .bytes = first_bytes,                       \
						      .start = start_at,                          \
						      .end = end_at,                              \
						      .times = TIMES_##how,
#define LASTS(family, at, of, values) .lasts = {at, VALUES_##values},
#define END(family) \
	}           \
	;
#include "cupti_layout.def"

#define ACTIVITY(number, name, domain, feature) [number] = {&layout_##name, domain},
static const struct activity {
	const struct layout *layout;
	u32 domain;
} activities[AGENT_ACTIVITY_KINDS] = {
#include "cupti_layout.def"
};

/* Every record of ours that is made here. */
union record {
	struct record_header header;
#define KIND(number, tag, shape, row, meaning) struct record_##tag tag;
#include "../../bpf/record.def"
	u8 bytes[512];
};

/* One record on its way. */
struct conversion {
	struct cupti_convert *convert;
	const u8 *activity;
	u32 bytes;
	const struct activity *type;
	union record *record;
	u32 device, context; /* as far as they are known by now */
};

static const struct activity *activity_of(u32 kind)
{
	return kind < AGENT_ACTIVITY_KINDS && activities[kind].layout ? &activities[kind] : NULL;
}

bool cupti_convert_knows(u32 kind)
{
	return activity_of(kind) != NULL;
}

/* ---- fields ---- */

/* Of a field of 1, 2, 4 or 8 bytes, as those of all table rows are, wherever it stands. */
static u64 load(const u8 *field, u32 bytes)
{
	switch (bytes) {
	case 8:
		return *(const may_alias_u64 *)field;
	case 4:
		return *(const may_alias_u32 *)field;
	case 2:
		return *(const may_alias_u16 *)field;
	}
	return *field;
}

static void store(u8 *field, u32 bytes, u64 value)
{
	switch (bytes) {
	case 8:
		*(may_alias_u64 *)field = value;
		return;
	case 4:
		*(may_alias_u32 *)field = value;
		return;
	case 2:
		*(may_alias_u16 *)field = value;
		return;
	}
	*field = value;
}

/* 0 where the record is too short to have it. */
static u64 read_number(struct conversion *conversion, u32 offset, u32 bytes)
{
	return offset + bytes <= conversion->bytes ? load(conversion->activity + offset, bytes) : 0;
}

static bool holds(struct conversion *conversion, const struct condition *condition)
{
	u64 value;

	if (!condition->values)
		return true;
	value = read_number(conversion, condition->at, 4);
	return value < 16 && condition->values >> value & 1;
}

/* What does not fit stays absent. */
static void write_number(struct conversion *conversion, const struct field *field, u64 value)
{
	if (field->destination_bytes < 8 && value >> (8 * field->destination_bytes))
		return;
	store(conversion->record->bytes + field->destination, field->destination_bytes, value);
}

static bool is_id(struct conversion *conversion, u64 value)
{
	return value != NOT_KNOWN &&
	       !(value == 0 && conversion->convert->version >= VERSION_INVALID_IS_0);
}

/* cudaLaunchKernel_v7000: the version of the runtime that the function came with is no part of its name. */
static void copy_name(char *name, size_t room_bytes, const char *from)
{
	size_t length = 0, digits;

	for (; from && from[length] && length + 1 < room_bytes; length++)
		name[length] = from[length];
	name[length] = '\0';
	for (digits = 0; digits < length && name[length - 1 - digits] >= '0' &&
			 name[length - 1 - digits] <= '9';
	     digits++)
		;
	if (digits >= 4 && length > digits + 2 && name[length - digits - 1] == 'v' &&
	    name[length - digits - 2] == '_')
		name[length - digits - 2] = '\0';
}

static u32 callback_text(struct conversion *conversion, u32 callback)
{
	struct cupti_convert *convert = conversion->convert;
	u32 domain = conversion->type->domain;
	char name[CALLBACK_NAME_BYTES];
	u32 *id;

	if (callback >= API_CALLS_MAX || domain < 1 || domain > 2)
		return 0;
	id = &convert->callback_texts[domain - 1][callback];
	if (*id) {
		texts_send(convert->texts, convert->writer, *id);
		return *id;
	}
	copy_name(name, sizeof(name), convert->callback_name(convert->data, domain, callback));
	*id = texts_put(convert->texts, convert->writer, name);
	return *id;
}

/*
 * How a field comes about: *value is what stands in CUPTI's record and becomes what is written into ours; false:
 * nothing is written.
 */
typedef bool (*how_function)(struct conversion *conversion, const struct field *field, u64 *value);

static bool how_copy(struct conversion *conversion, const struct field *field, u64 *value)
{
	return true;
}

static bool how_id(struct conversion *conversion, const struct field *field, u64 *value)
{
	if (!is_id(conversion, *value))
		return false;
	conversion->context = *value;
	return true;
}

static bool how_device(struct conversion *conversion, const struct field *field, u64 *value)
{
	conversion->device = *value;
	if (*value < 64)
		conversion->convert->devices_used |= 1ULL << *value;
	return true;
}

static bool how_device_of(struct conversion *conversion, const struct field *field, u64 *value)
{
	*value = streams_device(conversion->convert->streams, *value);
	conversion->device = *value;
	return true;
}

static bool how_stream(struct conversion *conversion, const struct field *field, u64 *value)
{
	struct cupti_convert *convert = conversion->convert;
	u32 device = conversion->device;

	if (!is_id(conversion, *value) || conversion->context == NOT_KNOWN)
		return false;
	if (device == NOT_KNOWN)
		device = streams_device(convert->streams, conversion->context);
	*value =
		streams_put(convert->streams, convert->writer, conversion->context, device, *value);
	return true;
}

static bool how_text(struct conversion *conversion, const struct field *field, u64 *value)
{
	struct cupti_convert *convert = conversion->convert;

	if (*value)
		*value = texts_put(convert->texts, convert->writer,
				   convert->string_at(convert->data, *value));
	return *value != 0;
}

static bool how_callback(struct conversion *conversion, const struct field *field, u64 *value)
{
	conversion->record->header.name = callback_text(conversion, *value);
	conversion->record->api.domain = conversion->type->domain;
	return true;
}

static bool how_time(struct conversion *conversion, const struct field *field, u64 *value)
{
	*value = clock_convert(conversion->convert->clock, *value);
	return true;
}

static bool how_plus_1(struct conversion *conversion, const struct field *field, u64 *value)
{
	++*value;
	return true;
}

static bool how_async(struct conversion *conversion, const struct field *field, u64 *value)
{
	*value = *value & 1 ? VALUE_yes_no_yes : VALUE_yes_no_no;
	return true;
}

static bool how_yes_no(struct conversion *conversion, const struct field *field, u64 *value)
{
	*value = *value ? VALUE_yes_no_yes : VALUE_yes_no_no;
	return true;
}

static bool how_overhead(struct conversion *conversion, const struct field *field, u64 *value)
{
	*value = *value >> 16 ? (*value >> 16) + 1 : *value;
	return true;
}

static bool how_bytes(struct conversion *conversion, const struct field *field, u64 *value)
{
	memcpy(conversion->record->bytes + field->destination, conversion->activity + field->source,
	       field->destination_bytes);
	return false;
}

static bool how_context(struct conversion *conversion, const struct field *field, u64 *value)
{
	streams_set_context(conversion->convert->streams, conversion->convert->writer, *value,
			    conversion->device);
	return true;
}

static bool how_instruction(struct conversion *conversion, const struct field *field, u64 *value)
{
	struct cupti_convert *convert = conversion->convert;

	*value = instructions_put(convert->instructions, convert->writer, *value);
	return true;
}

static bool how_one(struct conversion *conversion, const struct field *field, u64 *value)
{
	*value = 1;
	return true;
}

static const how_function hows[] = {
	[HOW_COPY] = how_copy,
	[HOW_ID] = how_id,
	[HOW_DEVICE] = how_device,
	[HOW_DEVICE_OF] = how_device_of,
	[HOW_STREAM] = how_stream,
	[HOW_TEXT] = how_text,
	[HOW_CALLBACK] = how_callback,
	[HOW_TIME] = how_time,
	[HOW_PLUS_1] = how_plus_1,
	[HOW_ASYNC] = how_async,
	[HOW_YES_NO] = how_yes_no,
	[HOW_OVERHEAD] = how_overhead,
	[HOW_BYTES] = how_bytes,
	[HOW_CONTEXT] = how_context,
	[HOW_INSTRUCTION] = how_instruction,
	[HOW_ONE] = how_one,
};

static void put_field(struct conversion *conversion, const struct field *field)
{
	u64 value;

	if ((u32)field->source + field->source_bytes > conversion->bytes ||
	    !holds(conversion, &field->condition))
		return;
	value = read_number(conversion, field->source,
			    field->source_bytes < 8 ? field->source_bytes : 8);
	if (field->how == HOW_COPY || hows[field->how](conversion, field, &value))
		write_number(conversion, field, value);
}

/* ---- records ---- */

static void count(struct conversion *conversion, enum agent_counter counter)
{
	ring_count(conversion->convert->writer->ring, counter, 1);
}

/* Start and length; false: it has none, and was counted. */
static bool put_times(struct conversion *conversion)
{
	const struct layout *layout = conversion->type->layout;
	struct clock *clock = conversion->convert->clock;
	struct record_header *header = &conversion->record->header;
	u64 start = clock_convert(clock, read_number(conversion, layout->start, 8));
	u64 end = layout->times == TIMES_POINT
			  ? start
			  : clock_convert(clock, read_number(conversion, layout->end, 8));

	if (layout->lasts.values && (end < start || !holds(conversion, &layout->lasts)))
		end = start;
	/* ~0: CUPTI's word for what it does not know. */
	if (!start || end < start || end == ~0ULL) {
		count(conversion, AGENT_COUNT_NO_TIMESTAMPS);
		return false;
	}
	header->ts = start;
	header->dur = end - start;
	return true;
}

static bool in_window(struct conversion *conversion)
{
	const struct agent_control *control = conversion->convert->control;
	const struct record_header *header = &conversion->record->header;
	u64 opened_ns = __atomic_load_n(&control->window_start_ns, __ATOMIC_ACQUIRE);
	u64 closed_ns = __atomic_load_n(&control->window_end_ns, __ATOMIC_ACQUIRE);

	if (opened_ns && header->ts + header->dur >= opened_ns &&
	    (!closed_ns || header->ts <= closed_ns))
		return true;
	count(conversion, AGENT_COUNT_OUTSIDE_WINDOW);
	return false;
}

/* Of an API call, by the row that makes its name of it. */
static u64 callback_of(struct conversion *conversion)
{
	const struct field *field = conversion->type->layout->fields;

	while (field->how != HOW_CALLBACK)
		field++;
	return read_number(conversion, field->source, field->source_bytes);
}

static bool is_thrown_away(struct conversion *conversion)
{
	u32 domain = conversion->type->domain;
	u32 callback = domain ? conversion->convert->thrown_away[domain - 1] : 0;

	return callback && callback_of(conversion) == callback;
}

/* What has its price, whether it is sent or not. */
static void count_cost(struct conversion *conversion)
{
	u32 kind = conversion->type->layout->kind;

	if (conversion->type->domain)
		count(conversion, conversion->type->domain == VALUE_api_domain_driver
					  ? AGENT_COUNT_DRIVER_CALLS
					  : AGENT_COUNT_RUNTIME_CALLS);
	else if (kind == KIND_kernel || kind == KIND_copy || kind == KIND_set ||
		 kind == KIND_graph_launch)
		count(conversion, AGENT_COUNT_OPERATIONS);
}

/* Is it one that the settings leave out? Counted, but for what was never asked for. */
static bool is_left_out(struct conversion *conversion)
{
	const struct cupti_convert *convert = conversion->convert;
	const struct agent_cupti_config *config = &convert->control->cupti;
	u32 domain = conversion->type->domain;
	u64 limit = domain ? config->callback_events_max : config->activity_events_max;
	u64 sent = domain ? convert->sent_callbacks : convert->sent_activities;

	if (domain && !api_set_has(&convert->apis, domain, callback_of(conversion)))
		return true;
	if (!limit || sent < limit)
		return false;
	count(conversion, domain ? AGENT_COUNT_CAPPED_CALLBACKS : AGENT_COUNT_CAPPED_ACTIVITIES);
	return true;
}

static void fill(struct conversion *conversion)
{
	const struct layout *layout = conversion->type->layout;
	union record *record = conversion->record;

	for (u32 i = 0; i < layout->field_count; i++)
		put_field(conversion, &layout->fields[i]);
	record->header.pid = conversion->convert->pid;
}

/* Only the first devices may be wanted; facts are there for what refers to them. */
static bool is_device_wanted(const struct conversion *conversion)
{
	u32 devices_max = conversion->convert->control->cupti.devices_max;

	return !devices_max || conversion->type->layout->times == TIMES_NONE ||
	       conversion->device == NOT_KNOWN || conversion->device < devices_max;
}

/* What began before the window is left out of what is shown: it uses nothing up of what options allow. */
static bool begins_inside(const struct conversion *conversion)
{
	const struct agent_control *control = conversion->convert->control;

	return conversion->record->header.ts >=
	       __atomic_load_n(&control->window_start_ns, __ATOMIC_ACQUIRE);
}

static void send(struct conversion *conversion)
{
	const union record *record = conversion->record;
	struct cupti_convert *convert = conversion->convert;
	bool counts = conversion->type->layout->times != TIMES_NONE && begins_inside(conversion);
	void *room = ring_reserve(convert->writer, record->header.size_bytes);

	if (!room) {
		count(conversion, AGENT_COUNT_RING_FULL);
		return;
	}
	memcpy(room, record, record->header.size_bytes);
	ring_commit(convert->writer, record->header.size_bytes);
	if (record->header.kind == KIND_device && conversion->device < 64)
		convert->devices_told |= 1ULL << conversion->device;
	if (conversion->type->domain)
		convert->sent_callbacks += counts;
	else
		convert->sent_activities += counts;
	if (conversion->type->layout->times != TIMES_NONE &&
	    record->header.kind != KIND_gpu_environment)
		count(conversion, AGENT_COUNT_WORK);
}

void cupti_convert(struct cupti_convert *convert, const void *activity, size_t room_bytes)
{
	union record record;
	struct conversion conversion = {.convert = convert,
					.activity = activity,
					.record = &record,
					.device = NOT_KNOWN,
					.context = NOT_KNOWN};
	const struct layout *layout;
	u32 kind = 0;

	if (room_bytes >= sizeof(kind))
		memcpy(&kind, activity, sizeof(kind));
	conversion.type = activity_of(kind);
	if (!conversion.type) {
		count(&conversion, AGENT_COUNT_ACTIVITY_UNKNOWN);
		return;
	}
	layout = conversion.type->layout;
	conversion.bytes =
		convert->record_bytes[kind] ? convert->record_bytes[kind] : layout->bytes;
	if (conversion.bytes < layout->bytes || conversion.bytes > room_bytes) {
		count(&conversion, AGENT_COUNT_ACTIVITY_UNKNOWN);
		return;
	}
	/* Also of what is not in the window. */
	if (!convert->managed_used)
		convert->managed_used = cupti_managed_sign(kind, activity, conversion.bytes);
	memcpy(&record, absent_record(layout->kind), absent_record(layout->kind)->size_bytes);
	if (layout->times == TIMES_NONE)
		record.header.ts = convert->fact_ns;
	else if (is_thrown_away(&conversion) || !put_times(&conversion) || !in_window(&conversion))
		return;
	count_cost(&conversion);
	if (layout->times != TIMES_NONE && is_left_out(&conversion))
		return;
	fill(&conversion);
	/* The stream fact has been sent by the reference to it. */
	if (layout->kind != KIND_stream && is_device_wanted(&conversion))
		send(&conversion);
}
