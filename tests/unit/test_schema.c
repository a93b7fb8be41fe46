/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stddef.h>

#include "store/schema.h"
#include "store/schema_document.h"
#include "../bpf/shared.h"
#include "unit.h"

#define EACH_KIND(kind)                                                                       \
	size_t kind##_count;                                                                  \
	const struct schema_kind *kind##_list = schema_kinds(&kind##_count);                  \
	for (const struct schema_kind *kind = kind##_list; kind < kind##_list + kind##_count; \
	     kind++)

TEST(rows_become_fields_of_the_struct)
{
	const struct schema_kind *kind = schema_kind(KIND_call);
	const struct schema_field *field = schema_field(kind, "probe");

	CHECK_STRING(kind->tag, "call");
	CHECK(kind->shape == SHAPE_SPAN && kind->row == ROW_THREAD && kind->tail == TAIL_NONE);
	CHECK_U64(kind->size_bytes, sizeof(struct record_call));
	CHECK_U64(field->offset_bytes, offsetof(struct record_call, probe));
	CHECK_U64(field->element_bytes, 4);
	CHECK_U64(field->count, 1);
	CHECK(field->unit == UNIT_ID);
	CHECK_STRING(field->reference, "probe");
	field = schema_field(schema_kind(KIND_task), "comm");
	CHECK_U64(field->count, 16);
	CHECK(schema_kind(KIND_text)->tail == TAIL_BYTES);
	CHECK(schema_kind(KIND_stack)->tail == TAIL_ADDRESSES);
	CHECK_STRING(schema_tail_field(schema_kind(KIND_stack))->name, "depth");
	CHECK_STRING(schema_tail_field(schema_kind(KIND_usdt_span))->name, "args_bytes");
	CHECK_U64(schema_kind(KIND_window)->field_count, 0);
}

TEST(numbers_and_tags_are_found_and_unique)
{
	EACH_KIND(kind)
	{
		CHECK(schema_kind(kind->number) == kind);
		CHECK(schema_kind_by_tag(kind->tag) == kind);
	}
	CHECK(!schema_kind(0));
	CHECK(!schema_kind(63));
	CHECK(!schema_kind(65535));
	CHECK(!schema_kind_by_tag("nothing"));
}

/* Bytes that no field covers would carry memory of the kernel or of a target into files. */
TEST(fields_cover_every_byte_once)
{
	EACH_KIND(kind)
	{
		size_t offset = sizeof(struct record_header);

		for (size_t i = 0; i < kind->field_count; i++) {
			const struct schema_field *field = &kind->fields[i];

			if (field->offset_bytes != offset)
				UNIT_FAIL("%s.%s is at %u, not at %zu", kind->tag, field->name,
					  field->offset_bytes, offset);
			offset = field->offset_bytes + field->element_bytes * field->count;
		}
		CHECK_U64(offset, kind->size_bytes);
		CHECK_U64(kind->size_bytes % 8, 0);
	}
}

static size_t enum_size(const char *name)
{
	size_t count, size = 0;
	const struct schema_enum_value *values = schema_enum_values(&count);

	for (size_t i = 0; i < count; i++)
		size += strcmp(values[i].enum_name, name) == 0;
	return size;
}

/* What the generic parts of store and view take for granted. */
TEST(references_lead_somewhere)
{
	EACH_KIND(kind)
	{
		for (size_t i = 0; i < kind->field_count; i++) {
			const struct schema_field *field = &kind->fields[i];
			const struct schema_kind *fact = schema_kind_by_tag(field->reference);

			if (field->unit == UNIT_ID) {
				CHECK(fact && fact->shape == SHAPE_FACT && schema_id_field(fact));
				CHECK_U64(field->element_bytes, 4);
				CHECK_U64(field->count, 1);
			}
			if (field->unit == UNIT_TEXT || field->unit == UNIT_STACK) {
				CHECK_U64(field->element_bytes, 4);
				CHECK_U64(field->count, 1);
			}
			if (field->unit == UNIT_ENUM) {
				CHECK(enum_size(field->reference) > 0);
				CHECK_U64(field->element_bytes, 1);
				CHECK_U64(field->absent, 0);
			}
			if (field->unit == UNIT_SIGNED)
				CHECK_U64(field->count, 1);
			if (field->unit == UNIT_HEX || field->unit == UNIT_CHARS)
				CHECK_U64(field->element_bytes, 1);
		}
		if (kind->tail != TAIL_NONE)
			CHECK(schema_tail_field(kind) &&
			      (kind->tail == TAIL_ARGS || schema_id_field(kind)));
	}
}

/* store/renumber.c goes by it. */
TEST(values_of_an_enum_follow_each_other)
{
	size_t count;
	const struct schema_enum_value *values = schema_enum_values(&count);

	for (size_t i = 2; i < count; i++)
		for (size_t j = 0; j + 1 < i; j++)
			CHECK(strcmp(values[i].enum_name, values[i - 1].enum_name) == 0 ||
			      strcmp(values[i].enum_name, values[j].enum_name) != 0);
}

TEST(enum_values_by_number_and_tag)
{
	CHECK_STRING(schema_enum("call_ended", 1)->tag, "returned");
	CHECK_U64(schema_enum_by_tag("call_ended", "open")->number, 6);
	CHECK(!schema_enum("call_ended", 0));
	CHECK(!schema_enum("call_ended", 99));
	CHECK(!schema_enum_by_tag("call_ended", "session"));
}

TEST(values_of_every_width)
{
	struct record_call call = {.ended = 3, .probe = 0x12345678};
	struct record_level level = {.value = 0x1122334455667788};
	struct record_task task = {.comm = "abc"};
	const struct schema_field *field;

	field = schema_field(schema_kind(KIND_call), "ended");
	CHECK_U64(schema_field_value(field, &call.header, 0), 3);
	schema_field_set(field, &call.header, 0, 200);
	CHECK_U64(call.ended, 200);
	CHECK_U64(call.probe, 0x12345678);
	CHECK_U64(call.pad[0], 0);
	field = schema_field(schema_kind(KIND_level), "value");
	CHECK_U64(schema_field_value(field, &level.header, 0), 0x1122334455667788);
	field = schema_field(schema_kind(KIND_task), "comm");
	CHECK_U64(schema_field_value(field, &task.header, 1), 'b');
	CHECK(!schema_field_absent(field, &task.header));
	memset(task.comm, 0, sizeof(task.comm));
	CHECK(schema_field_absent(field, &task.header));
}

TEST(a_cleared_record_has_nothing)
{
	u64 buffer[64];

	EACH_KIND(kind)
	{
		struct record_header *record = (void *)buffer;

		memset(buffer, 0xaa, sizeof(buffer));
		CHECK(kind->size_bytes <= sizeof(buffer));
		schema_record_clear(kind, record);
		CHECK_U64(record->kind, kind->number);
		CHECK_U64(record->size_bytes, kind->size_bytes);
		CHECK_U64(record->ts, 0);
		for (size_t i = 0; i < kind->field_count; i++)
			CHECK(schema_field_absent(&kind->fields[i], record));
	}
}

TEST(header_fields)
{
	size_t count;
	const struct schema_field *fields = schema_header_fields(&count);
	struct record_header header = {.ts = 5, .dur = 6, .tid = 7, .source = 8};

	CHECK_U64(count, 7);
	CHECK_STRING(fields[0].name, "ts");
	CHECK_U64(schema_field_value(&fields[0], &header, 0), 5);
	CHECK_U64(schema_field_value(&fields[1], &header, 0), 6);
	CHECK_U64(schema_field_value(&fields[3], &header, 0), 7);
	CHECK_STRING(fields[6].name, "source");
	CHECK_U64(schema_field_value(&fields[6], &header, 0), 8);
	header.dur = RECORD_DURATION_OPEN;
	CHECK(schema_field_absent(&fields[1], &header));
}

TEST(no_field_of_a_kind_is_called_like_one_of_the_header)
{
	size_t kind_count, count;
	const struct schema_kind *kinds = schema_kinds(&kind_count);
	const struct schema_field *header = schema_header_fields(&count);

	for (size_t i = 0; i < kind_count; i++) {
		for (size_t j = 0; j < count; j++) {
			CHECK(!schema_field(&kinds[i], header[j].name));
			CHECK(schema_field_or_header(&kinds[i], header[j].name) == &header[j]);
		}
		for (size_t j = 0; j < kinds[i].field_count; j++)
			CHECK(schema_field_or_header(&kinds[i], kinds[i].fields[j].name) != NULL);
		CHECK(!schema_field_or_header(&kinds[i], "nosuch"));
	}
}

TEST(names)
{
	CHECK_STRING(schema_unit_name(UNIT_TIME), "TIME");
	CHECK_STRING(schema_unit_name(UNIT_PAD), "PAD");
	CHECK_STRING(schema_unit_name(99), "?");
	CHECK_STRING(schema_shape_name(SHAPE_TOTAL), "TOTAL");
	CHECK(schema_hash() == schema_hash());
	CHECK(schema_hash() != 0);
}

static bool is_listed(const char *const *list, size_t count, const char *word)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(list[i], word))
			return true;
	return false;
}

TEST(every_loss_reason_has_a_class_and_a_counter)
{
	/* Also the class of a reason that nobody gave one. */
	static const char *const others[] = {
		"unmatched_return",   "fact_missing",	   "facts_capped",
		"clock_fitted",	      "return_left",	   "guard_failed",
		"allocations_capped", "stacks_full",	   "usdt_args_cut",
		"growth_full",	      "heap_sites_full",   "heap_free_unseen",
		"memory_unread",      "growth_missed",	   "warned",
		"samples_missed",     "thread_times_full", "profiler_refused",
		"single_stepped",     "code_changed",	   "patch_repaired"};
	size_t count;
	const struct schema_enum_value *values = schema_enum_values(&count);

	for (size_t i = 0; i < count; i++) {
		if (strcmp(values[i].enum_name, "loss_reason"))
			continue;
		CHECK(values[i].number < LOSS_REASONS_MAX);
		if (schema_loss_class(values[i].number) == LOSS_CLASS_OTHER)
			CHECK(is_listed(others, ARRAY_SIZE(others), values[i].tag));
	}
	CHECK_U64(schema_loss_class(VALUE_loss_reason_ring_full), LOSS_CLASS_RECORDS);
	CHECK_U64(schema_loss_class(12345), LOSS_CLASS_OTHER);
}

/* The line of a field in the section of its kind, into ret_line. */
static void find_line(const char *document, const char *kind, const char *field, char *ret_line,
		      size_t line_bytes)
{
	char heading[64], row[64];
	const char *at;

	snprintf(heading, sizeof(heading), "\n## %s (", kind);
	snprintf(row, sizeof(row), "\n| `%s` | ", field);
	at = strstr(document, heading);
	at = at ? strstr(at, row) : NULL;
	snprintf(ret_line, line_bytes, "%.*s", at ? (int)strcspn(at + 1, "\n") : 0,
		 at ? at + 1 : "");
}

TEST(the_document_names_types_as_they_are)
{
	char *document = NULL, line[256];
	size_t size_bytes;
	FILE *file = open_memstream(&document, &size_bytes);

	schema_print_markdown(file);
	fclose(file);
	find_line(document, "thread", "priority", line, sizeof(line));
	CHECK(strstr(line, "| `priority` | s32 | SIGNED | ") == line);
	find_line(document, "mapping", "bytes", line, sizeof(line));
	CHECK(strstr(line, "| `bytes` | s64 | SIGNED | ") == line);
	find_line(document, "mapping", "mapped_bytes", line, sizeof(line));
	CHECK(strstr(line, "| `mapped_bytes` | u64 | BYTES | ") == line);
	find_line(document, "kernel", "grid", line, sizeof(line));
	CHECK(strstr(line, "| `grid` | u32[3] | COUNT | ") == line);
	free(document);
}

UNIT_MAIN()
