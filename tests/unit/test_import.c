/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "capture_fixture.h"

static void check_error(const char *string, const char *expected)
{
	struct err err = {0};
	int fd = -1;

	CHECK(fixture_import(string, strlen(string), &fd, &err) == -EINVAL);
	CHECK_STRING(err.message, expected);
	CHECK(fd == -1);
}

TEST(a_call_keeps_all_its_fields)
{
	struct fixture opened _fixture_ = fixture_open(
		"{\"kind\":\"probe\",\"id\":\"get\",\"name\":\"get\",\"binary\":\"/bin/x\","
		"\"returns\":\"session\",\"address\":\"0x1234\",\"file_offset\":4660}\n"
		"\n"
		"{\"kind\":\"call\",\"ts\":100,\"dur\":7,\"pid\":5,\"tid\":6,\"probe\":\"get\","
		"\"ended\":\"returned\",\"stack\":[\"0xa\",\"0xffffffff81000000\"]}");
	const struct record_header *const *facts, *record;
	struct capture_cursor *cursor = NULL;
	const struct record_probe *probe;
	const u64 *addresses;
	struct err err = {0};
	size_t count;

	facts = capture_facts(opened.reader, KIND_probe, &count);
	CHECK_U64(count, 1);
	probe = (const struct record_probe *)facts[0];
	CHECK_STRING(capture_text(opened.reader, probe->header.name), "get");
	CHECK_STRING(capture_text(opened.reader, probe->binary), "/bin/x");
	CHECK_U64(probe->returns, VALUE_returns_session);
	CHECK_U64(probe->address, 0x1234);
	CHECK_U64(probe->file_offset, 4660);
	CHECK_U64(probe->mangled, 0);
	CHECK_OK(capture_cursor_open(opened.reader, &cursor, &err), err);
	CHECK_U64(capture_cursor_next(cursor, &record, &err), 1);
	CHECK_U64(record->kind, KIND_call);
	CHECK_U64(record->source, 3);
	CHECK_U64(record->ts, 100);
	CHECK_U64(record->dur, 7);
	CHECK_U64(record->pid, 5);
	CHECK_U64(record->tid, 6);
	CHECK_U64(((const struct record_call *)record)->probe, 1);
	CHECK_U64(((const struct record_call *)record)->ended, VALUE_call_ended_returned);
	CHECK_U64(capture_stack(opened.reader, record->stack, &addresses), 2);
	CHECK_U64(addresses[0], 0xa);
	CHECK_U64(addresses[1], 0xffffffff81000000);
	CHECK_U64(capture_cursor_next(cursor, &record, &err), 0);
	capture_cursor_free(cursor);
	CHECK(!capture_reader_cut(opened.reader));
}

TEST(a_span_without_duration_is_open_and_a_point_has_none)
{
	struct fixture opened _fixture_ =
		fixture_open("{\"kind\":\"call\",\"ts\":1,\"probe\":\"f\"}\n"
			     "{\"kind\":\"entry\",\"ts\":2,\"probe\":\"f\"}\n");
	const struct record_header *record;
	struct capture_cursor *cursor = NULL;
	struct err err = {0};

	CHECK_OK(capture_cursor_open(opened.reader, &cursor, &err), err);
	CHECK_U64(capture_cursor_next(cursor, &record, &err), 1);
	CHECK_U64(record->dur, RECORD_DURATION_OPEN);
	CHECK_U64(capture_cursor_next(cursor, &record, &err), 1);
	CHECK_U64(record->dur, 0);
	capture_cursor_free(cursor);
}

TEST(a_label_without_a_fact_makes_one_up)
{
	struct fixture opened _fixture_ =
		fixture_open("{\"kind\":\"call\",\"ts\":1,\"dur\":1,\"probe\":\"later\"}\n"
			     "{\"kind\":\"call\",\"ts\":2,\"dur\":1,\"probe\":\"never\"}\n"
			     "{\"kind\":\"probe\",\"id\":\"later\",\"name\":\"its name\"}\n");
	const struct record_header *const *facts;
	size_t count;

	facts = capture_facts(opened.reader, KIND_probe, &count);
	CHECK_U64(count, 2);
	CHECK_STRING(capture_text(opened.reader, facts[0]->name), "its name");
	CHECK_STRING(capture_text(opened.reader, facts[1]->name), "never");
	CHECK_U64(capture_reader_loss(opened.reader, VALUE_loss_reason_fact_missing), 0);
}

TEST(arrays_of_bytes)
{
	struct fixture opened _fixture_ = fixture_open(
		"{\"kind\":\"task\",\"pid\":1,\"tid\":2,\"comm\":\"sixteen bytes ok\"}\n"
		"{\"kind\":\"module\",\"id\":\"m\",\"build_id\":\"00fFa0\"}\n");
	const struct record_header *const *facts;
	const struct record_module *module;
	size_t count;

	facts = capture_facts(opened.reader, KIND_task, &count);
	CHECK_U64(count, 1);
	CHECK(!memcmp(((const struct record_task *)facts[0])->comm, "sixteen bytes ok", 16));
	facts = capture_facts(opened.reader, KIND_module, &count);
	CHECK_U64(count, 1);
	module = (const struct record_module *)facts[0];
	CHECK_U64(module->build_id[1], 0xff);
	CHECK_U64(module->build_id[2], 0xa0);
	CHECK_U64(module->file_offset, ~0ULL);
}

TEST(sources_are_id_spaces)
{
	struct fixture opened _fixture_ =
		fixture_open("{\"kind\":\"probe\",\"id\":\"f\",\"name\":\"a\",\"source\":3}\n"
			     "{\"kind\":\"probe\",\"id\":\"f\",\"name\":\"b\",\"source\":4}\n");
	size_t count;

	capture_facts(opened.reader, KIND_probe, &count);
	CHECK_U64(count, 2);
}

TEST(errors_name_line_field_and_what_was_expected)
{
	check_error("{\"kind\":\"call\",\"ts\":1}\n\n{\"kind\":\"cal\",\"ts\":1}",
		    "in.ndjson:3: unknown kind \"cal\". Did you mean call?");
	check_error("{\"kind\":\"call\",\"ts\":1,\"prob\":\"f\"}",
		    "in.ndjson:1: unknown field of call \"prob\". Did you mean probe?");
	check_error("{\"kind\":\"call\",\"ts\":1,\"pad\":[1,2,3]}",
		    "in.ndjson:1: unknown field of call \"pad\". Did you mean pid?");
	check_error("{\"kind\":\"call\",\"ts\":1,\"ended\":\"returnd\"}",
		    "in.ndjson:1: ended of call: unknown value \"returnd\". Did you mean "
		    "returned?");
	check_error("{\"kind\":\"call\",\"ts\":1,\"ended\":\"zzzzzzzz\"}",
		    "in.ndjson:1: ended of call: unknown value \"zzzzzzzz\"");
	check_error("{\"ts\":1}", "in.ndjson:1: \"kind\" is missing: every line says what it is");
	check_error("{\"kind\":\"call\"}", "in.ndjson:1: \"ts\" is missing: a call needs it");
	check_error("{\"kind\":\"probe\",\"name\":\"x\"}",
		    "in.ndjson:1: \"id\" is missing: a probe needs one");
	check_error("{\"kind\":\"call\",\"ts\":-1}",
		    "in.ndjson:1: ts of call: expected an integer that is not negative");
	check_error("{\"kind\":\"call\",\"ts\":1.5}",
		    "in.ndjson:1: ts of call: expected an integer that is not negative");
	check_error("{\"kind\":\"call\",\"ts\":1,\"pid\":4294967296}",
		    "in.ndjson:1: pid of call: 4294967296 does not fit 32 bits");
	check_error("{\"kind\":\"text\",\"id\":\"x\"}",
		    "in.ndjson:1: a text has no line of its own: it is written where it is used");
	check_error("[1]", "in.ndjson:1: expected a JSON object");
	check_error("{\"kind\":\"task\",\"comm\":\"seventeen bytes..\"}",
		    "in.ndjson:1: comm of task: expected a string of at most 16 bytes");
	check_error("{\"kind\":\"module\",\"id\":\"m\",\"build_id\":\"abc\"}",
		    "in.ndjson:1: build_id of module: expected at most 20 bytes as hex digits");
	check_error("{\"kind\":\"call\",\"ts\":1,\"stack\":[\"1\"]}",
		    "in.ndjson:1: stack of call: expected an array of addresses \"0x...\"");
}

TEST(what_is_no_json_is_an_error)
{
	struct err err = {0};
	int fd;

	CHECK(fixture_import("{\"kind\":\n", 9, &fd, &err) == -EINVAL);
	CHECK(!strncmp(err.message, "in.ndjson:1: no JSON object: ", 29));
	CHECK(fixture_import("{\"kind\":\"call\",\"kind\":\"call\"}", 29, &fd, &err) == -EINVAL);
	CHECK(strstr(err.message, "duplicate"));
	CHECK(fixture_import("\0\0\n", 3, &fd, &err) == -EINVAL);
}

TEST(numbers_beyond_json_are_hex)
{
	struct fixture opened _fixture_ =
		fixture_open("{\"kind\":\"level\",\"ts\":1,\"value\":\"0xfffffffffffffffe\"}\n");
	const struct record_header *record;
	struct capture_cursor *cursor = NULL;
	struct err err = {0};

	CHECK_OK(capture_cursor_open(opened.reader, &cursor, &err), err);
	CHECK_U64(capture_cursor_next(cursor, &record, &err), 1);
	CHECK_U64(((const struct record_level *)record)->value, 0xfffffffffffffffe);
	capture_cursor_free(cursor);
}

TEST(lines_up_to_a_mebibyte)
{
	const size_t size = 4 << 20;
	char *text _cleanup_free_ = malloc(size);
	struct err err = {0};
	int length, fd = -1;

	memset(text, ' ', size);
	length = snprintf(text, size, "{\"kind\":\"call\",\"ts\":1,\"dur\":1,\"probe\":\"f\"");
	text[length] = ' ';
	text[(1 << 20) - 2] = '}';
	text[(1 << 20) - 1] = '\n';
	CHECK_OK(fixture_import(text, 1 << 20, &fd, &err), err);
	close(fd);
	text[(1 << 20) - 2] = ' ';
	text[(1 << 20) - 1] = ' ';
	CHECK(fixture_import(text, size, &fd, &err) == -EINVAL);
	CHECK_STRING(err.message, "in.ndjson:1: the line is longer than 1 MiB");
}

UNIT_MAIN()
