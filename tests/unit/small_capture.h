/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A capture of a few records, and what is read of one, for tests of the store. */
#ifndef GPUPROBE_TESTS_SMALL_CAPTURE_H
#define GPUPROBE_TESTS_SMALL_CAPTURE_H

#include "capture_build.h"

/* A small generator of our own: the same numbers on every machine. */
static u64 random_state = 1;

static inline u64 random_below(u64 limit)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (random_state >> 33) % limit;
}

/* Facts and three blocks of events. */
static inline int small_capture(void)
{
	struct capture_writer *writer = NULL;
	struct batch *batch = NULL;
	int fd = memory_file();
	struct err err = {0};

	CHECK(batch_create(&batch) == 0);
	CHECK_OK(capture_writer_create(fd, &writer, &err), err);
	CHECK(batch_add_text(batch, RECORD_SOURCE_BPF, 1, "function", 8) == 0);
	add_probe(batch, RECORD_SOURCE_BPF, 1, 1);
	for (unsigned block = 0; block < 3; block++) {
		for (unsigned i = 0; i < 4; i++)
			add_call(batch, 100 * block + 10 * i, 5, 1, 1);
		CHECK_OK(capture_writer_append(writer, batch, &err), err);
		batch_clear(batch);
	}
	CHECK_OK(capture_writer_finish(writer, &err), err);
	capture_writer_free(writer);
	batch_free(batch);
	return fd;
}

/* Number of events; checks their order and that all of them can be touched. */
static inline u64 count_events(struct capture_reader *reader)
{
	struct capture_cursor *cursor = NULL;
	const struct record_header *record;
	struct err err = {0};
	u64 count = 0, last = 0;
	int result;

	CHECK_OK(capture_cursor_open(reader, &cursor, &err), err);
	while ((result = capture_cursor_next(cursor, &record, &err)) > 0) {
		const struct schema_kind *kind = schema_kind(record->kind);

		CHECK(kind && kind->shape != SHAPE_FACT);
		CHECK(record->ts >= last);
		last = record->ts;
		for (size_t i = 0; i < kind->field_count; i++)
			(void)schema_field_value(&kind->fields[i], record, 0);
		if (record->kind == KIND_call) {
			size_t probes;

			capture_facts(reader, KIND_probe, &probes);
			CHECK(((const struct record_call *)record)->probe <= probes);
		}
		count++;
	}
	CHECK_OK(result, err);
	capture_cursor_free(cursor);
	return count;
}

#endif
