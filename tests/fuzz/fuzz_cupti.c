/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arbitrary bytes as CUPTI's activity records, of arbitrary sizes: what a CUPTI of another version could hand over. */
#include <stdlib.h>
#include <string.h>

#include "../gpu/cupti/cupti_convert.h"

#define CHUNKS	     2
#define MEMORY_BYTES (AGENT_CONTROL_BYTES + CHUNKS * AGENT_CHUNK_BYTES)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *callback_name(void *data, u32 domain, u32 callback)
{
	return callback % 3 ? "cudaSomething_v3020" : NULL;
}

/* An address out of arbitrary bytes: CUPTI's are right, or the process would end. */
static const char *string_at(void *data, u64 address)
{
	static const char *const strings[] = {"", "kernel", "_Z6kernelIfEvPT_", "0_v1234"};

	return strings[address % 4];
}

/* Sizes of all kinds come first, two bytes each for the first 64; then the version; then one record. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cupti_convert convert = {.callback_name = callback_name, .string_at = string_at};
	struct agent_control *control = calloc(1, MEMORY_BYTES);
	struct ring_writer writer;
	struct clock clock = {0};
	struct ring ring;

	if (size >= sizeof(convert.record_bytes) + sizeof(convert.version) + 1) {
		memcpy(convert.record_bytes, data, sizeof(convert.record_bytes));
		data += sizeof(convert.record_bytes);
		memcpy(&convert.version, data, sizeof(convert.version));
		data += sizeof(convert.version);
		size -= sizeof(convert.record_bytes) + sizeof(convert.version);
		control->chunk_count = CHUNKS;
		control->window_start_ns = 1;
		ring_open(&ring, control, MEMORY_BYTES);
		ring_writer_open(&writer, &ring, 1);
		convert.control = control;
		convert.writer = &writer;
		convert.clock = &clock;
		convert.texts = texts_open(16, 1);
		convert.instructions = instructions_open(1, 1);
		convert.streams = streams_open(1, 1);
		for (size_t step = 0; size; step++) {
			/* A copy of its own for each: what is read behind it is found. */
			size_t bytes = size < 256 ? size : 256;
			void *record = malloc(bytes);

			memcpy(record, data, bytes);
			cupti_convert(&convert, record, bytes);
			free(record);
			data += bytes;
			size -= bytes;
		}
		texts_close(convert.texts);
		instructions_close(convert.instructions);
		streams_close(convert.streams);
	}
	free(control);
	return 0;
}
