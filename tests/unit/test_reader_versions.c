/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store/capture_format.h"
#include "store/capture_reader.h"
#include "store/schema_text.h"
#include "unit.h"

/* A capture as another version wrote it. */
struct foreign {
	int fd;
	struct capture_reader *reader;
	struct capture_cursor *cursor;
	struct err err;
};

static void append(int fd, const void *data, size_t size)
{
	lseek(fd, 0, SEEK_END);
	CHECK(write(fd, data, size) == (ssize_t)size);
}

static void append_block(int fd, u32 type, const void *payload, u32 size, u32 count)
{
	struct capture_block_header header = {
		.magic = CAPTURE_BLOCK_MAGIC,
		.offset = lseek(fd, 0, SEEK_END),
		.type = type,
		.payload_bytes = size,
		.record_count = count,
		.payload_crc = capture_crc(payload, size),
	};

	header.header_crc = capture_crc(&header, offsetof(struct capture_block_header, header_crc));
	append(fd, &header, sizeof(header));
	append(fd, payload, size);
}

static struct foreign foreign_create(const char *schema)
{
	struct capture_file_header header = {.magic = CAPTURE_MAGIC,
					     .version = 1,
					     .size_bytes = sizeof(header),
					     .schema_hash = 1};
	struct foreign foreign = {.fd = memfd_create("capture", MFD_CLOEXEC)};
	struct text text _cleanup_text_ = {0};

	header.crc = capture_crc(&header, offsetof(struct capture_file_header, crc));
	append(foreign.fd, &header, sizeof(header));
	text_append(&text, schema);
	while (text.length % 8)
		text_append_char(&text, '\n');
	append_block(foreign.fd, CAPTURE_BLOCK_SCHEMA, text.data, text.length, 0);
	return foreign;
}

/* Ends the file and opens it. */
static void foreign_open(struct foreign *foreign)
{
	append_block(foreign->fd, CAPTURE_BLOCK_END, "", 0, 0);
	CHECK_OK(capture_reader_open(foreign->fd, &foreign->reader, &foreign->err), foreign->err);
	CHECK_OK(capture_cursor_open(foreign->reader, &foreign->cursor, &foreign->err),
		 foreign->err);
}

static const void *foreign_next(struct foreign *foreign)
{
	const struct record_header *record = NULL;

	if (capture_cursor_next(foreign->cursor, &record, &foreign->err) != 1)
		UNIT_FAIL("no more events");
	return record;
}

static void foreign_close(struct foreign *foreign)
{
	capture_cursor_free(foreign->cursor);
	capture_reader_free(foreign->reader);
	close(foreign->fd);
}

#define _foreign_ __attribute__((cleanup(foreign_close)))

static struct record_header header_of(u16 kind, u16 size, u64 ts)
{
	return (struct record_header){.size_bytes = size,
				      .kind = kind,
				      .source = 2,
				      .ts = ts,
				      .dur = 9,
				      .pid = 4,
				      .tid = 5};
}

TEST(kinds_and_fields_are_matched_by_name)
{
	/* Other number, other size, other order, other widths, a field that we do not know, and
	 * none of "ended". */
	struct foreign foreign _foreign_ = foreign_create("kind 500 call SPAN THREAD NONE 64\n"
							  "field new 40 8 1 COUNT none 0\n"
							  "field probe 48 8 1 ID probe 77\n"
							  "field pad 56 1 8 PAD none 0\n");
	struct {
		struct record_header header;
		u64 new, probe;
		u8 pad[8];
	} record = {.header = header_of(500, 64, 100), .new = 3, .probe = 5, .pad = {1, 2, 3}};
	const struct record_call *call;

	append_block(foreign.fd, CAPTURE_BLOCK_EVENTS, &record, sizeof(record), 1);
	/* Absent in their words; and a value that does not fit our field. */
	record.probe = 77;
	append_block(foreign.fd, CAPTURE_BLOCK_EVENTS, &record, sizeof(record), 1);
	record.probe = 1ULL << 32;
	append_block(foreign.fd, CAPTURE_BLOCK_EVENTS, &record, sizeof(record), 1);
	foreign_open(&foreign);
	call = foreign_next(&foreign);
	CHECK_U64(call->header.kind, KIND_call);
	CHECK_U64(call->header.size_bytes, sizeof(*call));
	CHECK_U64(call->header.ts, 100);
	CHECK_U64(call->header.dur, 9);
	CHECK_U64(call->header.tid, 5);
	CHECK_U64(call->probe, 1);
	CHECK_U64(call->ended, 0);
	CHECK_U64(call->pad[0], 0);
	call = foreign_next(&foreign);
	CHECK_U64(call->probe, 0);
	call = foreign_next(&foreign);
	CHECK_U64(call->probe, 0);
	CHECK(!capture_reader_cut(foreign.reader));
	CHECK_U64(capture_reader_loss(foreign.reader, VALUE_loss_reason_kind_unknown), 0);
}

TEST(enum_values_are_matched_by_tag)
{
	struct foreign foreign _foreign_ = foreign_create("kind 32 call SPAN THREAD NONE 48\n"
							  "field probe 40 4 1 ID probe 0\n"
							  "field ended 44 1 1 ENUM call_ended 0\n"
							  "field pad 45 1 3 PAD none 0\n"
							  "enum call_ended 1 open\n"
							  "enum call_ended 6 returned\n"
							  "enum call_ended 7 vanished\n");
	struct record_call records[4] = {0};
	const u8 theirs[] = {1, 6, 7, 200},
		 ours[] = {VALUE_call_ended_open, VALUE_call_ended_returned, 0, 0};

	for (unsigned i = 0; i < 4; i++) {
		records[i].header = header_of(32, 48, i);
		records[i].ended = theirs[i];
	}
	append_block(foreign.fd, CAPTURE_BLOCK_EVENTS, records, sizeof(records), 4);
	foreign_open(&foreign);
	for (unsigned i = 0; i < 4; i++)
		CHECK_U64(((const struct record_call *)foreign_next(&foreign))->ended, ours[i]);
}

TEST(a_name_of_another_unit_is_not_the_same_field)
{
	struct foreign foreign _foreign_ = foreign_create("kind 96 level COUNTER PROCESS NONE 48\n"
							  "field value 40 8 1 BYTES none 0\n");
	struct record_level record = {.header = header_of(96, 48, 1), .value = 5};

	append_block(foreign.fd, CAPTURE_BLOCK_EVENTS, &record, sizeof(record), 1);
	foreign_open(&foreign);
	CHECK_U64(((const struct record_level *)foreign_next(&foreign))->value, ~0ULL);
}

TEST(unknown_kinds_are_counted)
{
	struct foreign foreign _foreign_ = foreign_create("kind 700 dream SPAN THREAD NONE 40\n"
							  "kind 701 call POINT THREAD NONE 40\n"
							  "kind 702 idea FACT NONE NONE 40\n");
	struct record_header events[2] = {header_of(700, 40, 1), header_of(701, 40, 2)};
	struct record_header fact = header_of(702, 40, 1);
	const struct record_header *record;

	append_block(foreign.fd, CAPTURE_BLOCK_EVENTS, events, sizeof(events), 2);
	append_block(foreign.fd, CAPTURE_BLOCK_FACTS, &fact, sizeof(fact), 1);
	foreign_open(&foreign);
	CHECK_U64(capture_cursor_next(foreign.cursor, &record, &foreign.err), 0);
	CHECK_U64(capture_reader_loss(foreign.reader, VALUE_loss_reason_kind_unknown), 3);
}

TEST(tails_move_with_the_fixed_part)
{
	/* Our text has 8 bytes of fields, theirs 16. */
	struct foreign foreign _foreign_ =
		foreign_create("kind 1 text FACT NONE BYTES 56\n"
			       "field language 40 8 1 NUMBER none 0\n"
			       "field id 48 4 1 ID text 0\n"
			       "field length_bytes 52 4 1 BYTES none 0\n");
	struct {
		struct record_header header;
		u64 language;
		u32 id, length_bytes;
		char tail[8];
	} record = {.header = header_of(1, 64, 0), .id = 3, .length_bytes = 5, .tail = "hello"};

	append_block(foreign.fd, CAPTURE_BLOCK_FACTS, &record, sizeof(record), 1);
	record.length_bytes = 9;
	append_block(foreign.fd, CAPTURE_BLOCK_FACTS, &record, sizeof(record), 1);
	foreign_open(&foreign);
	CHECK_STRING(capture_text(foreign.reader, 1), "hello");
	CHECK_U64(capture_reader_loss(foreign.reader, VALUE_loss_reason_record_damaged), 1);
}

TEST(an_event_with_a_tail_of_a_later_version)
{
	struct foreign foreign _foreign_ =
		foreign_create("kind 64 entry POINT THREAD ARGS 48\n"
			       "field probe 40 4 1 ID probe 0\n"
			       "field reason 44 1 1 ENUM entry_only_reason 0\n"
			       "field pad 45 1 3 PAD none 0\n"
			       "enum entry_only_reason 11 too_deep\n");
	struct {
		struct record_entry entry;
		u8 args[4096];
	} records[3] = {0};
	const struct record_entry *entry;

	for (unsigned i = 0; i < 3; i++) {
		records[i].entry.header = header_of(64, sizeof(records[i]), i);
		records[i].entry.reason = 11;
	}
	append_block(foreign.fd, CAPTURE_BLOCK_EVENTS, records, sizeof(records), 3);
	foreign_open(&foreign);
	for (unsigned i = 0; i < 3; i++) {
		entry = foreign_next(&foreign);
		CHECK_U64(entry->header.size_bytes, sizeof(*entry));
		CHECK_U64(entry->header.ts, i);
		CHECK_U64(entry->reason, VALUE_entry_only_reason_too_deep);
	}
}

TEST(without_a_table_everything_is_unknown)
{
	struct foreign foreign _foreign_ = foreign_create("");
	struct record_level record = {.header = header_of(96, 48, 1)};
	const struct record_header *none;

	append_block(foreign.fd, CAPTURE_BLOCK_EVENTS, &record, sizeof(record), 1);
	foreign_open(&foreign);
	CHECK_U64(capture_cursor_next(foreign.cursor, &none, &foreign.err), 0);
	CHECK_U64(capture_reader_loss(foreign.reader, VALUE_loss_reason_kind_unknown), 1);
}

/* ---- the table itself ---- */

TEST(the_table_of_this_build_is_read_back)
{
	struct text text _cleanup_text_ = {0};
	const struct schema_kind *kinds;
	struct schema_table table;
	size_t count;

	schema_text_write(&text);
	CHECK_U64(text.length % 8, 0);
	CHECK(schema_text_parse(text.data, text.length, &table) == 0);
	kinds = schema_kinds(&count);
	CHECK_U64(table.kind_count, count);
	for (size_t i = 0; i < count && i < table.kind_count; i++) {
		CHECK_STRING(table.kinds[i].tag, kinds[i].tag);
		CHECK_U64(table.kinds[i].shape, kinds[i].shape);
		CHECK_U64(table.kinds[i].row, kinds[i].row);
		CHECK_U64(table.kinds[i].tail, kinds[i].tail);
		CHECK_U64(table.kinds[i].size_bytes, kinds[i].size_bytes);
		CHECK_U64(table.kinds[i].field_count, kinds[i].field_count);
		for (size_t j = 0; j < kinds[i].field_count; j++) {
			CHECK_STRING(table.kinds[i].fields[j].name, kinds[i].fields[j].name);
			CHECK_U64(table.kinds[i].fields[j].offset_bytes,
				  kinds[i].fields[j].offset_bytes);
			CHECK_U64(table.kinds[i].fields[j].absent, kinds[i].fields[j].absent);
			CHECK_U64(table.kinds[i].fields[j].unit, kinds[i].fields[j].unit);
		}
	}
	schema_enum_values(&count);
	CHECK_U64(table.value_count, count);
	schema_table_free(&table);
}

TEST(a_table_that_contradicts_itself_loses_those_rows)
{
	static const char text[] = "kind 1 a SPAN THREAD NONE 48\n"
				   "field outside 44 8 1 COUNT none 0\n"
				   "field header 8 8 1 COUNT none 0\n"
				   "field odd 40 3 1 COUNT none 0\n"
				   "field none 40 4 0 COUNT none 0\n"
				   "field many 40 1 9 COUNT none 0\n"
				   "field unit 40 8 1 PARSEC none 0\n"
				   "field number 4x 8 1 COUNT none 0\n"
				   "field negative -1 8 1 COUNT none 0\n"
				   "field short 40 8\n"
				   "field good 40 8 1 COUNT none 0\n"
				   "kind 1 twice SPAN THREAD NONE 48\n"
				   "field nobodys 40 8 1 COUNT none 0\n"
				   "kind 2 a SPAN THREAD NONE 48\n"
				   "kind 3 small SPAN THREAD NONE 32\n"
				   "kind 4 crooked SPAN THREAD NONE 50\n"
				   "kind 5 shapeless BLOB THREAD NONE 48\n"
				   "kind 65536 far SPAN THREAD NONE 48\n"
				   "kind 6 b SPAN CORRIDOR LONG 48\n"
				   "enum e 1 one more\n"
				   "enum e x two\n"
				   "enum\n"
				   "poem a b c d e f g h i j k l m n o p q\n";
	struct schema_table table;

	CHECK(schema_text_parse(text, sizeof(text) - 1, &table) == 0);
	CHECK_U64(table.kind_count, 2);
	CHECK_U64(table.kinds[0].field_count, 1);
	CHECK_STRING(table.kinds[0].fields[0].name, "good");
	CHECK_STRING(table.kinds[1].tag, "b");
	CHECK_U64(table.kinds[1].row, ROW_NONE);
	CHECK_U64(table.kinds[1].tail, TAIL_BYTES);
	CHECK_U64(table.value_count, 1);
	schema_table_free(&table);
}

UNIT_MAIN()
