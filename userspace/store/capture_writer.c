/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/capture_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "store/capture_format.h"
#include "store/schema_text.h"

struct capture_writer {
	int fd;
	int failure; /* -errno of the write that failed, 0: none */
	u64 size_bytes;
	/* A block under construction: its header and its payload, so that it goes out by one write.
	 */
	u8 *block;
	size_t block_bytes; /* header included */
	size_t block_capacity;
	u32 record_count;
	u64 first_ns, last_ns;
	struct capture_index_entry *index;
	size_t index_count;
	size_t index_capacity;
};

static int writer_put(struct capture_writer *writer, const void *data, size_t size, struct err *err)
{
	int result = file_write_at(writer->fd, data, size, writer->size_bytes);

	if (result) {
		writer->failure = result;
		/* Best effort: a reader drops the torn block as well. */
		(void)!ftruncate(writer->fd, writer->size_bytes);
		return err_errno(err, result,
				 "can't write the capture (%llu bytes so far, all readable)",
				 (unsigned long long)writer->size_bytes);
	}
	writer->size_bytes += size;
	return 0;
}

static void block_begin(struct capture_writer *writer)
{
	writer->block_bytes = sizeof(struct capture_block_header);
	writer->record_count = 0;
	writer->first_ns = ~0ULL;
	writer->last_ns = 0;
}

static int block_append(struct capture_writer *writer, const void *data, size_t size)
{
	int result =
		array_reserve(&writer->block, &writer->block_capacity, writer->block_bytes + size);

	if (result < 0 || !size)
		return result;
	memcpy(writer->block + writer->block_bytes, data, size);
	writer->block_bytes += size;
	return 0;
}

/* Writes the block, if there is something in it. */
static int block_write(struct capture_writer *writer, enum capture_block_type type, struct err *err)
{
	struct capture_block_header *header = (void *)writer->block;
	size_t payload = writer->block_bytes - sizeof(*header);
	bool records = type == CAPTURE_BLOCK_FACTS || type == CAPTURE_BLOCK_EVENTS;
	int result;

	*header = (struct capture_block_header){
		.magic = CAPTURE_BLOCK_MAGIC,
		.offset = writer->size_bytes,
		.type = type,
		.payload_bytes = payload,
		.record_count = writer->record_count,
		.payload_crc = capture_crc(writer->block + sizeof(*header), payload),
		.first_ns = type == CAPTURE_BLOCK_EVENTS ? writer->first_ns : 0,
		.last_ns = type == CAPTURE_BLOCK_EVENTS ? writer->last_ns : 0,
	};
	header->header_crc = capture_crc(header, offsetof(struct capture_block_header, header_crc));
	if (records) {
		result = array_reserve(&writer->index, &writer->index_capacity,
				       writer->index_count + 1);
		if (result < 0)
			return err_errno(err, result, "can't write the capture");
	}
	result = writer_put(writer, writer->block, writer->block_bytes, err);
	if (result < 0)
		return result;
	if (records)
		writer->index[writer->index_count++] = (struct capture_index_entry){
			.offset = header->offset,
			.first_ns = header->first_ns,
			.last_ns = header->last_ns,
			.type = type,
			.record_count = header->record_count,
		};
	block_begin(writer);
	return 0;
}

/* Adds a record to the block of this type, which is written when it is full. */
static int block_add(struct capture_writer *writer, enum capture_block_type type,
		     const struct record_header *record, struct err *err)
{
	size_t payload = writer->block_bytes - sizeof(struct capture_block_header);
	u64 end = capture_record_end(record->ts, record->dur);
	int result = 0;

	if (writer->record_count && payload + record->size_bytes > CAPTURE_PAYLOAD_MAX)
		result = block_write(writer, type, err);
	if (result < 0)
		return result;
	result = block_append(writer, record, record->size_bytes);
	if (result < 0)
		return err_errno(err, result, "can't write the capture");
	writer->record_count++;
	writer->first_ns = record->ts < writer->first_ns ? record->ts : writer->first_ns;
	writer->last_ns = end > writer->last_ns ? end : writer->last_ns;
	return 0;
}

static int writer_write_schema(struct capture_writer *writer, struct err *err)
{
	struct text text _cleanup_text_ = {0};
	int result;

	schema_text_write(&text);
	if (text.failed)
		return err_errno(err, -ENOMEM, "can't write the capture");
	block_begin(writer);
	result = block_append(writer, text.data, text.length);
	if (result < 0)
		return err_errno(err, result, "can't write the capture");
	return block_write(writer, CAPTURE_BLOCK_SCHEMA, err);
}

int capture_writer_create(int fd, struct capture_writer **ret_writer, struct err *err)
{
	struct capture_file_header header = {
		.version = CAPTURE_VERSION,
		.size_bytes = sizeof(header),
		.schema_hash = schema_hash(),
	};
	struct capture_writer *writer;
	int result;

	memcpy(header.magic, CAPTURE_MAGIC, sizeof(header.magic));
	header.crc = capture_crc(&header, offsetof(struct capture_file_header, crc));
	writer = calloc(1, sizeof(*writer));
	if (!writer)
		return err_errno(err, -ENOMEM, "can't write the capture");
	writer->fd = fd;
	result = writer_put(writer, &header, sizeof(header), err);
	if (result == 0)
		result = writer_write_schema(writer, err);
	if (result < 0) {
		capture_writer_free(writer);
		return result;
	}
	*ret_writer = writer;
	return 0;
}

static int writer_refuse(const struct capture_writer *writer, struct err *err)
{
	return err_errno(err, writer->failure, "can't write the capture: an earlier write failed");
}

static int writer_append_facts(struct capture_writer *writer, struct batch *batch, struct err *err)
{
	size_t size;
	const u8 *facts = batch_facts(batch, &size);

	for (size_t offset = 0; offset < size;) {
		const struct record_header *record = (const void *)(facts + offset);
		int result = block_add(writer, CAPTURE_BLOCK_FACTS, record, err);

		if (result < 0)
			return result;
		offset += record->size_bytes;
	}
	return writer->record_count ? block_write(writer, CAPTURE_BLOCK_FACTS, err) : 0;
}

static int writer_append_events(struct capture_writer *writer, struct batch *batch, struct err *err)
{
	u64 count = batch_event_count(batch);

	batch_sort(batch);
	for (u64 i = 0; i < count; i++) {
		int result = block_add(writer, CAPTURE_BLOCK_EVENTS, batch_event(batch, i), err);

		if (result < 0)
			return result;
	}
	return writer->record_count ? block_write(writer, CAPTURE_BLOCK_EVENTS, err) : 0;
}

int capture_writer_append(struct capture_writer *writer, struct batch *batch, struct err *err)
{
	int result;

	if (writer->failure)
		return writer_refuse(writer, err);
	block_begin(writer);
	result = writer_append_facts(writer, batch, err);
	if (result < 0)
		return result;
	return writer_append_events(writer, batch, err);
}

int capture_writer_finish(struct capture_writer *writer, struct err *err)
{
	int result;

	if (writer->failure)
		return writer_refuse(writer, err);
	block_begin(writer);
	result = block_append(writer, writer->index, writer->index_count * sizeof(*writer->index));
	if (result < 0)
		return err_errno(err, result, "can't write the end of the capture");
	return block_write(writer, CAPTURE_BLOCK_END, err);
}

struct capture_writer *capture_writer_free(struct capture_writer *writer)
{
	if (!writer)
		return NULL;
	free(writer->block);
	free(writer->index);
	free(writer);
	return NULL;
}
