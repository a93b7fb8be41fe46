/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A conversion of CUPTI's records into a ring of its own, and what came out. */
#ifndef GPUPROBE_TESTS_CUPTI_FIXTURE_H
#define GPUPROBE_TESTS_CUPTI_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "../gpu/cupti/cupti_convert.h"
#include "../bpf/record.h"

#define CHUNKS	     4
#define MEMORY_BYTES (AGENT_CONTROL_BYTES + CHUNKS * AGENT_CHUNK_BYTES)

struct fixture {
	struct agent_control *control;
	struct ring ring;
	struct ring_writer writer;
	struct clock clock;
	struct cupti_convert convert;
};

static inline const char *callback_name(void *data, u32 domain, u32 callback)
{
	return callback == 211 ? "cudaLaunchKernel_v7000" : "cuLaunchKernel";
}

static inline const char *string_at(void *data, u64 address)
{
	return address == 0x1234 ? "kernel_a" : "other";
}

static inline struct fixture *fixture_make(void)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->control = aligned_alloc(4096, (MEMORY_BYTES + 4095) & ~4095UL);
	memset(fixture->control, 0, MEMORY_BYTES);
	fixture->control->chunk_count = CHUNKS;
	fixture->control->window_start_ns = 1;
	ring_open(&fixture->ring, fixture->control, MEMORY_BYTES);
	ring_writer_open(&fixture->writer, &fixture->ring, 1);
	fixture->convert = (struct cupti_convert){
		.control = fixture->control,
		.writer = &fixture->writer,
		.texts = texts_open(100, 5),
		.streams = streams_open(42, 5),
		.instructions = instructions_open(42, 5),
		.clock = &fixture->clock,
		.version = 130001,
		.pid = 42,
		.fact_ns = 5,
		.callback_name = callback_name,
		.string_at = string_at,
	};
	api_calls_resolve(&fixture->convert.apis, API_GROUPS_EVERY, callback_name, NULL);
	return fixture;
}

static inline void fixture_free(struct fixture *fixture)
{
	texts_close(fixture->convert.texts);
	streams_close(fixture->convert.streams);
	instructions_close(fixture->convert.instructions);
	free(fixture->control);
	free(fixture);
}

/* The last record of this kind, NULL: none. */
static inline const void *last(const struct fixture *fixture, u16 kind)
{
	const struct agent_chunk *chunk =
		(const void *)((u8 *)fixture->control + AGENT_CONTROL_BYTES);
	const struct record_header *found = NULL;

	for (u32 offset = 0; offset < chunk->fill_bytes;) {
		const struct record_header *header = (const void *)(chunk->records + offset);

		if (header->kind == kind)
			found = header;
		offset += header->size_bytes;
	}
	return found;
}

static inline u64 counted(const struct fixture *fixture, enum agent_counter counter)
{
	return fixture->control->counters[counter];
}

static inline void put(u8 *record, u32 offset, u64 value, u32 bytes)
{
	memcpy(record + offset, &value, bytes);
}

#endif
