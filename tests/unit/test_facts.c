/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture_build.h"

/* Writes the batch as a capture of its own and opens it. */
static struct capture_reader *reader_of(struct batch *batch, int fd)
{
	struct capture_reader *reader = NULL;
	struct capture_writer *writer = NULL;
	struct err err = {0};

	CHECK_OK(capture_writer_create(fd, &writer, &err), err);
	CHECK_OK(capture_writer_append(writer, batch, &err), err);
	CHECK_OK(capture_writer_finish(writer, &err), err);
	CHECK_OK(capture_reader_open(fd, &reader, &err), err);
	capture_writer_free(writer);
	batch_free(batch);
	return reader;
}

static void add_loss(struct batch *batch, u32 source, u8 reason, u64 ts, u64 count)
{
	struct record_loss loss = {
		.header = {.size_bytes = sizeof(loss),
			   .kind = KIND_loss,
			   .source = source,
			   .ts = ts},
		.reason = reason,
		.count = count,
	};

	CHECK(batch_add(batch, &loss.header) == 0);
}

static void add_task(struct batch *batch, u64 ts, const char *name)
{
	struct record_task task = {
		.header = {.size_bytes = sizeof(task),
			   .kind = KIND_task,
			   .source = RECORD_SOURCE_BPF,
			   .ts = ts,
			   .pid = 1,
			   .tid = 1},
	};

	memcpy(task.comm, name, strlen(name));
	CHECK(batch_add(batch, &task.header) == 0);
}

TEST(repeated_facts_take_no_room)
{
	int fd _cleanup_close_ = memory_file();
	const struct record_header *const *facts;
	struct capture_reader *reader;
	struct batch *batch = NULL;
	size_t count;

	CHECK(batch_create(&batch) == 0);
	for (unsigned i = 0; i < 3; i++) {
		CHECK(batch_add_text(batch, 2, 7, "seven", 5) == 0);
		add_probe(batch, 2, 9, 7);
		add_loss(batch, 2, VALUE_loss_reason_ring_full, 10 + i, 100 * (i + 1));
		add_loss(batch, 3, VALUE_loss_reason_ring_full, 20 + i, 5);
		add_loss(batch, 2, VALUE_loss_reason_missed, 30 + i, 6);
	}
	reader = reader_of(batch, fd);
	capture_facts(reader, KIND_text, &count);
	CHECK_U64(count, 1);
	facts = capture_facts(reader, KIND_probe, &count);
	CHECK_U64(count, 1);
	CHECK_U64(((const struct record_probe *)facts[0])->id, 1);
	CHECK_U64(facts[0]->name, 1);
	facts = capture_facts(reader, KIND_loss, &count);
	CHECK_U64(count, 3);
	CHECK_U64(((const struct record_loss *)facts[0])->count, 300);
	CHECK_U64(((const struct record_loss *)facts[1])->count, 5);
	CHECK_U64(((const struct record_loss *)facts[2])->count, 6);
	capture_reader_free(reader);
}

TEST(a_renamed_thread_keeps_all_its_names)
{
	int fd _cleanup_close_ = memory_file();
	const struct record_header *const *facts;
	struct capture_reader *reader;
	struct batch *batch = NULL;
	size_t count;

	CHECK(batch_create(&batch) == 0);
	add_task(batch, 30, "a");
	add_task(batch, 10, "a");
	add_task(batch, 20, "b");
	add_task(batch, 40, "a");
	reader = reader_of(batch, fd);
	facts = capture_facts(reader, KIND_task, &count);
	/* The second "a" repeats the one before it; the last comes after "b". */
	CHECK_U64(count, 3);
	CHECK_U64(facts[0]->ts, 20);
	CHECK_U64(facts[1]->ts, 30);
	CHECK_U64(facts[2]->ts, 40);
	capture_reader_free(reader);
}

TEST(facts_may_come_after_what_refers_to_them)
{
	int fd _cleanup_close_ = memory_file();
	struct capture_reader *reader = NULL;
	struct capture_writer *writer = NULL;
	const struct record_header *const *facts;
	struct batch *batch = NULL;
	struct err err = {0};
	size_t count;

	CHECK(batch_create(&batch) == 0);
	CHECK_OK(capture_writer_create(fd, &writer, &err), err);
	add_call(batch, 1, 1, 1, 77);
	add_call(batch, 2, 1, 1, 78);
	CHECK_OK(capture_writer_append(writer, batch, &err), err);
	batch_clear(batch);
	add_probe(batch, RECORD_SOURCE_BPF, 77, 5);
	CHECK_OK(capture_writer_append(writer, batch, &err), err);
	batch_clear(batch);
	CHECK(batch_add_text(batch, RECORD_SOURCE_BPF, 5, "late", 4) == 0);
	CHECK_OK(capture_writer_append(writer, batch, &err), err);
	CHECK_OK(capture_reader_open(fd, &reader, &err), err);
	facts = capture_facts(reader, KIND_probe, &count);
	CHECK_U64(count, 2);
	CHECK_STRING(capture_text(reader, facts[0]->name), "late");
	CHECK_STRING(capture_text(reader, facts[1]->name), "#78");
	CHECK_U64(capture_reader_loss(reader, VALUE_loss_reason_fact_missing), 1);
	capture_reader_free(reader);
	capture_writer_free(writer);
	batch_free(batch);
}

TEST(device_zero_is_a_device)
{
	int fd _cleanup_close_ = memory_file();
	struct capture_cursor *cursor = NULL;
	const struct record_header *record;
	struct capture_reader *reader;
	struct record_kernel kernel;
	struct batch *batch = NULL;
	struct err err = {0};
	size_t count;

	CHECK(batch_create(&batch) == 0);
	schema_record_clear(schema_kind(KIND_kernel), &kernel.header);
	kernel.header.source = 3;
	kernel.device = 0;
	CHECK(batch_add(batch, &kernel.header) == 0);
	reader = reader_of(batch, fd);
	CHECK_OK(capture_cursor_open(reader, &cursor, &err), err);
	CHECK_U64(capture_cursor_next(cursor, &record, &err), 1);
	CHECK_U64(((const struct record_kernel *)record)->device, 1);
	CHECK_U64(((const struct record_kernel *)record)->stream, 0);
	capture_facts(reader, KIND_device, &count);
	CHECK_U64(count, 1);
	capture_cursor_free(cursor);
	capture_reader_free(reader);
}

/* A target that sends facts without end fills its share, not our memory; another one keeps its own.
 */
TEST(facts_are_capped_for_each_source)
{
	const u32 too_many = 1000000 + 10;
	int fd _cleanup_close_ = memory_file();
	struct capture_reader *reader;
	struct batch *batch = NULL;
	size_t count;

	CHECK(batch_create(&batch) == 0);
	for (u32 id = 1; id <= too_many; id++)
		CHECK(batch_add_text(batch, 3, id, "", 0) == 0);
	CHECK(batch_add_text(batch, 4, 0xfffffff0, "other", 5) == 0);
	reader = reader_of(batch, fd);
	capture_facts(reader, KIND_text, &count);
	CHECK_U64(count, 1000001);
	CHECK_U64(capture_reader_loss(reader, VALUE_loss_reason_facts_capped), 10);
	CHECK_STRING(capture_text(reader, 1000001), "other");
	capture_reader_free(reader);
}

TEST(text_ids_send_each_string_once)
{
	struct text_ids ids = {.source = 5};
	struct batch *batch = NULL;
	size_t before;
	u32 id;

	CHECK(batch_create(&batch) == 0);
	CHECK(text_ids_get(&ids, batch, "a", &id) == 0);
	CHECK_U64(id, 1);
	CHECK(text_ids_get(&ids, batch, "b", &id) == 0);
	CHECK_U64(id, 2);
	before = batch_size_bytes(batch);
	CHECK(text_ids_get(&ids, batch, "a", &id) == 0);
	CHECK_U64(id, 1);
	CHECK(text_ids_get(&ids, batch, "", &id) == 0);
	CHECK_U64(id, 0);
	CHECK(text_ids_get(&ids, batch, NULL, &id) == 0);
	CHECK_U64(id, 0);
	CHECK_U64(batch_size_bytes(batch), before);
	CHECK_U64(batch_event_count(batch), 0);
	text_ids_free(&ids);
	batch_free(batch);
}

TEST(long_texts_are_cut)
{
	char *string _cleanup_free_ = malloc(100001);
	int fd _cleanup_close_ = memory_file();
	struct capture_reader *reader;
	struct batch *batch = NULL;

	memset(string, 'x', 100000);
	string[100000] = 0;
	CHECK(batch_create(&batch) == 0);
	CHECK(batch_add_text(batch, 3, 1, string, 100000) == 0);
	reader = reader_of(batch, fd);
	CHECK_U64(strlen(capture_text(reader, 1)), 60000);
	capture_reader_free(reader);
}

UNIT_MAIN()
