/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/ndjson.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "exporters/args.h"
#include "exporters/writer.h"

struct ndjson {
	struct writer writer;
	const struct view *view;
};

/* ---- values ---- */

/* ,"name": */
static void ndjson_append_key(struct text *text, const char *name)
{
	text_append(text, ",\"");
	text_append(text, name);
	text_append(text, "\":");
}

/* What an id stands for; the id itself where label is NULL. */
static void ndjson_append_label(struct text *text, const char *label, u64 id)
{
	if (label)
		json_append_string(text, label);
	else
		json_append_number(text, id);
}

/* ---- one value, by the unit of its field ---- */

typedef void ndjson_append_value(const struct view *view, struct text *text,
				 const struct schema_field *field, u64 value);

static void ndjson_append_plain(const struct view *view, struct text *text,
				const struct schema_field *field, u64 value)
{
	json_append_number(text, value);
}

static void ndjson_append_signed(const struct view *view, struct text *text,
				 const struct schema_field *field, u64 value)
{
	json_append_signed(text, schema_field_signed(field, value));
}

static void ndjson_append_address(const struct view *view, struct text *text,
				  const struct schema_field *field, u64 value)
{
	json_append_hex(text, value);
}

static void ndjson_append_id(const struct view *view, struct text *text,
			     const struct schema_field *field, u64 value)
{
	const struct schema_kind *kind = schema_kind_by_tag(field->reference);

	ndjson_append_label(text, kind ? view_label(view, kind->number, (u32)value) : NULL, value);
}

static void ndjson_append_text(const struct view *view, struct text *text,
			       const struct schema_field *field, u64 value)
{
	ndjson_append_label(text, view_text(view, (u32)value), value);
}

static void ndjson_append_stack(const struct view *view, struct text *text,
				const struct schema_field *field, u64 value)
{
	const u64 *addresses;
	size_t depth = view_stack(view, (u32)value, &addresses);

	json_append_hex_array(text, addresses, depth);
}

static void ndjson_append_enum(const struct view *view, struct text *text,
			       const struct schema_field *field, u64 value)
{
	const struct schema_enum_value *found = schema_enum(field->reference, (u32)value);

	ndjson_append_label(text, found ? found->tag : NULL, value);
}

static ndjson_append_value *const ndjson_units[] = {
	[UNIT_TIME] = ndjson_append_plain,   [UNIT_NS] = ndjson_append_plain,
	[UNIT_BYTES] = ndjson_append_plain,  [UNIT_COUNT] = ndjson_append_plain,
	[UNIT_NUMBER] = ndjson_append_plain, [UNIT_TASK] = ndjson_append_plain,
	[UNIT_ID] = ndjson_append_id,	     [UNIT_ENUM] = ndjson_append_enum,
	[UNIT_TEXT] = ndjson_append_text,    [UNIT_STACK] = ndjson_append_stack,
	[UNIT_ADDR] = ndjson_append_address, [UNIT_HEX] = ndjson_append_address,
	[UNIT_CHARS] = ndjson_append_plain,  [UNIT_SIGNED] = ndjson_append_signed,
	[UNIT_PAD] = ndjson_append_plain,
};

/* A build id: "a1b2...", in the order of its bytes. */
static void ndjson_append_hex_bytes(struct text *text, const u8 *bytes, size_t count)
{
	static const char digits[] = "0123456789abcdef";

	text_append_char(text, '"');
	for (size_t i = 0; i < count; i++) {
		text_append_char(text, digits[bytes[i] >> 4]);
		text_append_char(text, digits[bytes[i] & 15]);
	}
	text_append_char(text, '"');
}

static void ndjson_append_array(const struct view *view, struct text *text,
				const struct schema_field *field,
				const struct record_header *record)
{
	const char *bytes = (const char *)record + field->offset_bytes;

	if (field->unit == UNIT_HEX) {
		ndjson_append_hex_bytes(text, (const u8 *)bytes, field->count);
		return;
	}
	if (field->unit == UNIT_CHARS) {
		json_append_string_bytes(text, bytes, strnlen(bytes, field->count));
		return;
	}
	text_append_char(text, '[');
	for (unsigned i = 0; i < field->count; i++) {
		if (i)
			text_append_char(text, ',');
		ndjson_units[field->unit](view, text, field, schema_field_value(field, record, i));
	}
	text_append_char(text, ']');
}

/* ---- records ---- */

static void ndjson_append_fields(const struct view *view, struct text *text,
				 const struct schema_kind *kind, const struct record_header *record)
{
	for (size_t i = 0; i < kind->field_count; i++) {
		const struct schema_field *field = &kind->fields[i];

		if (field->unit == UNIT_PAD || field == schema_tail_field(kind) ||
		    view_field_absent(field, record))
			continue;
		ndjson_append_key(text, field->name);
		if (field->count > 1)
			ndjson_append_array(view, text, field, record);
		else
			ndjson_units[field->unit](view, text, field,
						  schema_field_value(field, record, 0));
	}
}

/* ,"args":{"arg0":-5,"arg1":"text","end.arg0":null} */
static void ndjson_append_args(struct text *text, const struct schema_kind *kind,
			       const struct record_header *record)
{
	struct record_args args = record_args_begin(kind, record);
	struct record_arg_value value;
	bool any = false;

	while (record_args_next(&args, &value)) {
		text_append(text, any ? "," : ",\"args\":{");
		args_append_json(text, &value);
		any = true;
	}
	if (any)
		text_append_char(text, '}');
}

static void ndjson_append_nonzero(struct text *text, const char *name, u64 value)
{
	if (!value)
		return;
	ndjson_append_key(text, name);
	json_append_number(text, value);
}

/* How it ends, and what of it is guessed, of stacks that were walked by tables. */
static void ndjson_append_stack_end(const struct view *view, struct text *text, u32 stack)
{
	const struct record_stack *fact = (const void *)view_fact(view, KIND_stack, stack);
	const struct schema_enum_value *end =
		fact && fact->end ? schema_enum("stack_end", fact->end) : NULL;

	if (end) {
		ndjson_append_key(text, "stack_end");
		json_append_string(text, end->tag);
	}
	if (!fact || !fact->guessed)
		return;
	ndjson_append_nonzero(text, "stack_guessed", fact->guessed);
	ndjson_append_nonzero(text, "stack_guessed_first", fact->guessed_first);
	ndjson_append_nonzero(text, "stack_guessed_rest", fact->guessed_rest);
}

/* A span has a duration (also 0) unless it is open; for the others 0 goes without saying. */
static void ndjson_append_duration(struct text *text, const struct schema_kind *kind, u64 dur)
{
	if (dur == RECORD_DURATION_OPEN || (dur == 0 && kind->shape != SHAPE_SPAN))
		return;
	ndjson_append_key(text, "dur");
	json_append_number(text, dur);
}

static void ndjson_append_header(const struct view *view, struct text *text,
				 const struct schema_kind *kind, const struct record_header *record)
{
	ndjson_append_nonzero(text, "source", record->source);
	if (record->ts || kind->shape != SHAPE_FACT) {
		ndjson_append_key(text, "ts");
		json_append_number(text, record->ts);
	}
	ndjson_append_duration(text, kind, record->dur);
	ndjson_append_nonzero(text, "pid", record->pid);
	ndjson_append_nonzero(text, "tid", record->tid);
	if (record->name) {
		ndjson_append_key(text, "name");
		ndjson_append_label(text, view_text(view, record->name), record->name);
	}
	if (record->stack) {
		ndjson_append_key(text, "stack");
		ndjson_append_stack(view, text, NULL, record->stack);
		ndjson_append_stack_end(view, text, record->stack);
	}
}

static int ndjson_write_record(struct ndjson *ndjson, const struct schema_kind *kind,
			       const struct record_header *record, struct err *err)
{
	struct text *text = &ndjson->writer.text;

	text_append(text, "{\"kind\":\"");
	text_append(text, kind->tag);
	text_append_char(text, '"');
	ndjson_append_header(ndjson->view, text, kind, record);
	ndjson_append_fields(ndjson->view, text, kind, record);
	ndjson_append_args(text, kind, record);
	text_append(text, "}\n");
	return writer_flush(&ndjson->writer, err);
}

/* ---- the ledger ---- */

/* How much of an entry of the ledger the recording itself left, of the tool or of the other
 * sources: a capture has one fact for each source, reason and place. */
static u64 ndjson_recorded_loss(const struct view *view, const struct view_loss *loss, bool of_tool)
{
	size_t count;
	const struct record_header *const *facts = view_facts(view, KIND_loss, &count);
	u64 sum = 0;

	for (size_t i = 0; i < count; i++) {
		const struct record_loss *fact = (const struct record_loss *)facts[i];
		const char *place = view_text(view, fact->place);

		if ((facts[i]->source == RECORD_SOURCE_TOOL) == of_tool &&
		    fact->reason == loss->reason && fact->count != ~0ULL &&
		    strcmp(place ? place : "", loss->place) == 0)
			sum += fact->count;
	}
	return sum;
}

/* What only reading the capture found out (a damaged block, a cut recording) must not be lost with
 * this format: it is written as if it had been recorded. What every reader of the same events finds
 * again would count twice. */
static int ndjson_write_losses_of_reading(struct ndjson *ndjson, const struct view_survey *survey,
					  struct err *err)
{
	struct text *text = &ndjson->writer.text;
	int result = 0;

	for (size_t i = 0; result == 0 && i < survey->loss_count; i++) {
		const struct view_loss *loss = &survey->losses[i];
		u64 others;

		if (strcmp(loss->place, VIEW_PLACE_OF_READING) != 0 ||
		    schema_loss_is_found_again(loss->reason))
			continue;
		others = ndjson_recorded_loss(ndjson->view, loss, false);
		if (others + ndjson_recorded_loss(ndjson->view, loss, true) >= loss->count)
			continue;
		text_append(text, "{\"kind\":\"loss\"");
		ndjson_append_nonzero(text, "source", RECORD_SOURCE_TOOL);
		ndjson_append_key(text, "reason");
		json_append_string(text, loss->tag);
		ndjson_append_key(text, "place");
		json_append_string(text, loss->place);
		ndjson_append_key(text, "count");
		json_append_number(text, loss->count - others);
		text_append(text, "}\n");
		result = writer_flush(&ndjson->writer, err);
	}
	return result;
}

/* ---- the sink ---- */

static int ndjson_open(void *data, const struct view *view, const struct view_survey *survey,
		       struct err *err)
{
	struct ndjson *ndjson = data;
	size_t kind_count;
	const struct schema_kind *kinds = schema_kinds(&kind_count);
	int result = 0;

	ndjson->view = view;
	for (size_t i = 0; i < kind_count; i++) {
		const struct record_header *const *facts;
		size_t count;

		/* What varies in length is written where it is referred to. */
		if (kinds[i].shape != SHAPE_FACT || kinds[i].tail != TAIL_NONE)
			continue;
		facts = view_facts(view, kinds[i].number, &count);
		for (size_t j = 0; result == 0 && j < count; j++)
			result = ndjson_write_record(ndjson, &kinds[i], facts[j], err);
		if (result == 0 && kinds[i].number == KIND_loss)
			result = ndjson_write_losses_of_reading(ndjson, survey, err);
		if (result < 0)
			return result;
	}
	return 0;
}

static int ndjson_event(void *data, const struct view_event *event, struct err *err)
{
	/* What was computed is computed again from what is written. */
	return event->computed ? 0 : ndjson_write_record(data, event->kind, event->record, err);
}

const struct view_sink ndjson_sink = {
	.open = ndjson_open,
	.span = ndjson_event,
	.point = ndjson_event,
	.counter = ndjson_event,
	.total = ndjson_event,
};

int ndjson_create(const char *path, bool gzip, void **ret_data, struct err *err)
{
	struct ndjson *ndjson _cleanup_free_ = calloc(1, sizeof(*ndjson));
	int result;

	if (!ndjson)
		return err_set(err, -ENOMEM, "can't write %s: out of memory", path);
	result = writer_create(&ndjson->writer, path, gzip, err);
	if (result < 0)
		return result;
	*ret_data = take_pointer(&ndjson);
	return 0;
}

int ndjson_finish(void *data, bool commit, u64 *ret_size_bytes, struct err *err)
{
	struct ndjson *ndjson = data;
	int result = writer_finish(&ndjson->writer, commit, ret_size_bytes, err);

	free(ndjson);
	return result;
}
