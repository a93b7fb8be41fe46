/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/capture_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "store/capture_blocks.h"

#define SCAN_BYTES (1U << 18)

/* State of the one pass over the file that opening is. */
struct pass {
	struct capture_reader *reader;
	u64 file_bytes;
	u64 offset;
	u8 *payload; /* of the block at hand */
	size_t payload_capacity;
	struct convert_room room;
	u64 *seen; /* offsets of the blocks whose headers are good */
	size_t seen_count;
	size_t seen_capacity;
	u64 damaged_regions; /* headers that were not good */
	u64 blocks;
	bool ended;
};

/* ---- records ---- */

/* Is the size of the record one that lets us find the next? */
static bool size_is_sound(const struct record_header *raw, size_t available)
{
	return available >= sizeof(*raw) && raw->size_bytes >= sizeof(*raw) &&
	       raw->size_bytes % 8 == 0 && raw->size_bytes <= available;
}

int capture_check_event(const struct capture_reader *reader, struct record_header *raw,
			size_t available, u64 not_before_ns, struct convert_room *room,
			struct record_header **ret_record)
{
	int result;

	if (!size_is_sound(raw, available))
		return -EBADMSG;
	result = convert_record(reader->convert, raw, room, ret_record);
	if (result <= 0)
		return result;
	if (schema_kind((*ret_record)->kind)->shape == SHAPE_FACT ||
	    (*ret_record)->ts < not_before_ns)
		return -EINVAL;
	return 1;
}

static void note_range(struct capture_reader *reader, const struct record_header *record)
{
	u64 end = capture_record_end(record->ts, record->dur);

	if (record->ts < reader->first_ns)
		reader->first_ns = record->ts;
	if (end > reader->last_ns)
		reader->last_ns = end;
}

static int add_block(struct capture_reader *reader, const struct capture_block *block)
{
	if (array_reserve(&reader->blocks, &reader->block_capacity, reader->block_count + 1) < 0)
		return -ENOMEM;
	reader->blocks[reader->block_count++] = *block;
	return 0;
}

/* The ids of all events are entered now, so that an id without a fact is known when the facts are
 * made up, and reading them later changes nothing. */
static int read_events(struct pass *pass, const struct capture_block_header *header)
{
	struct capture_reader *reader = pass->reader;
	struct capture_block block = {.offset = pass->offset + sizeof(*header),
				      .place = pass->blocks};
	u64 last = 0, seen = 0;
	u32 offset = 0;
	int result;

	for (; offset < header->payload_bytes; seen++) {
		struct record_header *raw = (void *)(pass->payload + offset), *record;

		result = capture_check_event(reader, raw, header->payload_bytes - offset, last,
					     &pass->room, &record);
		if (result == -EBADMSG)
			break;
		offset += raw->size_bytes;
		if (result > 0)
			result = renumber_enter(reader->renumber, record) ?: 1;
		if (result == -ENOMEM)
			return result;
		if (result <= 0) {
			reader->losses[result ? VALUE_loss_reason_record_damaged
					      : VALUE_loss_reason_kind_unknown]++;
			continue;
		}
		if (!block.payload_bytes)
			block.first_ns = record->ts;
		last = record->ts;
		block.payload_bytes = offset;
		note_range(reader, record);
	}
	if (offset < header->payload_bytes)
		reader->losses[VALUE_loss_reason_record_damaged] +=
			header->record_count > seen ? header->record_count - seen : 1;
	return block.payload_bytes ? add_block(reader, &block) : 0;
}

/* 1: taken; 0: unknown kind; -EINVAL: damaged; -ENOMEM. */
static int read_fact(struct pass *pass, struct record_header *raw)
{
	struct capture_reader *reader = pass->reader;
	const struct schema_field *id;
	const struct schema_kind *kind;
	struct record_header *record;
	int result = convert_record(reader->convert, raw, &pass->room, &record);

	if (result <= 0)
		return result;
	kind = schema_kind(record->kind);
	id = schema_id_field(kind);
	if (kind->shape != SHAPE_FACT || (id && schema_field_absent(id, record)))
		return -EINVAL;
	result = renumber_enter(reader->renumber, record);
	if (result == 0)
		result = facts_add(reader->facts, record);
	return result < 0 ? result : 1;
}

static int read_facts(struct pass *pass, const struct capture_block_header *header)
{
	struct capture_reader *reader = pass->reader;
	u64 seen = 0;
	u32 offset = 0;

	for (; offset < header->payload_bytes; seen++) {
		struct record_header *raw = (void *)(pass->payload + offset);
		int result;

		if (!size_is_sound(raw, header->payload_bytes - offset))
			break;
		offset += raw->size_bytes;
		result = read_fact(pass, raw);
		if (result == -ENOMEM)
			return result;
		if (result <= 0)
			reader->losses[result ? VALUE_loss_reason_record_damaged
					      : VALUE_loss_reason_kind_unknown]++;
	}
	if (offset < header->payload_bytes)
		reader->losses[VALUE_loss_reason_record_damaged] +=
			header->record_count > seen ? header->record_count - seen : 1;
	return 0;
}

/* ---- blocks ---- */

static int read_schema(struct pass *pass, const struct capture_block_header *header)
{
	struct capture_reader *reader = pass->reader;
	int result;

	/* The first one holds: a second is none that a writer makes. */
	if (reader->convert)
		return 0;
	result = schema_text_parse((const char *)pass->payload, header->payload_bytes,
				   &reader->foreign);
	if (result < 0)
		return result;
	return convert_create(&reader->foreign, &reader->convert);
}

/* What the index knows of and we did not see is lost. */
static int read_end(struct pass *pass, const struct capture_block_header *header)
{
	const struct capture_index_entry *index = (const void *)pass->payload;
	size_t count = header->payload_bytes / sizeof(*index), seen = 0;
	u64 lost = 0;

	for (size_t i = 0; i < count; i++) {
		while (seen < pass->seen_count && pass->seen[seen] < index[i].offset)
			seen++;
		if (seen == pass->seen_count || pass->seen[seen] != index[i].offset)
			lost += index[i].record_count;
	}
	if (lost) {
		pass->reader->losses[VALUE_loss_reason_block_damaged] += lost;
		pass->damaged_regions = 0;
	}
	pass->ended = true;
	return 0;
}

static int (*const block_readers[])(struct pass *, const struct capture_block_header *) = {
	[CAPTURE_BLOCK_SCHEMA] = read_schema,
	[CAPTURE_BLOCK_FACTS] = read_facts,
	[CAPTURE_BLOCK_EVENTS] = read_events,
	[CAPTURE_BLOCK_END] = read_end,
};

static bool header_is_good(const struct capture_block_header *header, u64 offset)
{
	return header->magic == CAPTURE_BLOCK_MAGIC && header->offset == offset &&
	       header->payload_bytes % 8 == 0 && header->payload_bytes <= CAPTURE_PAYLOAD_HARD &&
	       header->header_crc ==
		       capture_crc(header, offsetof(struct capture_block_header, header_crc));
}

/* The next good header at or after offset; 1, or 0 when there is none. */
static int find_block(struct pass *pass, u64 offset, u64 *ret_offset)
{
	u8 *window _cleanup_free_ = malloc(SCAN_BYTES);
	const size_t header_bytes = sizeof(struct capture_block_header);

	if (!window)
		return -ENOMEM;
	while (offset + header_bytes <= pass->file_bytes) {
		ssize_t got = file_read_at(pass->reader->fd, window, SCAN_BYTES, offset);
		size_t at = 0;

		if (got < 0)
			return got;
		if ((size_t)got < header_bytes)
			return 0;
		for (; at + header_bytes <= (size_t)got; at += 8)
			if (header_is_good((const void *)(window + at), offset + at)) {
				*ret_offset = offset + at;
				return 1;
			}
		offset += at;
	}
	return 0;
}

/* Reads the payload and checks it; 1 good, 0 damaged. */
static int read_payload(struct pass *pass, const struct capture_block_header *header)
{
	ssize_t got;

	if (array_reserve(&pass->payload, &pass->payload_capacity, header->payload_bytes) < 0)
		return -ENOMEM;
	got = file_read_at(pass->reader->fd, pass->payload, header->payload_bytes,
			   pass->offset + sizeof(*header));
	if (got < 0)
		return got;
	return (u64)got == header->payload_bytes &&
	       capture_crc(pass->payload, header->payload_bytes) == header->payload_crc;
}

static int read_block(struct pass *pass, const struct capture_block_header *header)
{
	struct capture_reader *reader = pass->reader;
	int result = read_payload(pass, header);

	if (result < 0)
		return result;
	if (array_reserve(&pass->seen, &pass->seen_capacity, pass->seen_count + 1) < 0)
		return -ENOMEM;
	pass->seen[pass->seen_count++] = pass->offset;
	pass->blocks++;
	if (!result) {
		u64 count = header->type == CAPTURE_BLOCK_END ? 0 : header->record_count;

		reader->losses[VALUE_loss_reason_block_damaged] += count ? count : 1;
		return 0;
	}
	if (header->type >= ARRAY_SIZE(block_readers) || !block_readers[header->type])
		return 0;
	if (!reader->convert && header->type != CAPTURE_BLOCK_SCHEMA) {
		/* The table of kinds is lost: an empty one, so that all is counted as unknown. */
		result = convert_create(&reader->foreign, &reader->convert);
		if (result < 0)
			return result;
	}
	return block_readers[header->type](pass, header);
}

static int read_blocks(struct pass *pass)
{
	while (!pass->ended && pass->offset < pass->file_bytes) {
		struct capture_block_header header;
		ssize_t got = file_read_at(pass->reader->fd, &header, sizeof(header), pass->offset);
		int result;

		if (got < 0)
			return got;
		if (got < (ssize_t)sizeof(header))
			return 0;
		if (!header_is_good(&header, pass->offset)) {
			result = find_block(pass, pass->offset + 8, &pass->offset);
			if (result <= 0)
				return result;
			pass->damaged_regions++;
			continue;
		}
		/* A torn tail. */
		if (header.payload_bytes > pass->file_bytes - pass->offset - sizeof(header))
			return 0;
		result = read_block(pass, &header);
		if (result < 0)
			return result;
		pass->offset += sizeof(header) + header.payload_bytes;
	}
	return 0;
}

/* ---- opening ---- */

static int check_file_header(int fd, u64 file_bytes, struct err *err)
{
	struct capture_file_header header;
	ssize_t got;

	if (!file_bytes)
		return err_set(err, -EINVAL, "it is no capture: it is empty");
	got = file_read_at(fd, &header, sizeof(header), 0);
	if (got < 0)
		return err_errno(err, got, "can't read it");
	if ((size_t)got < sizeof(header.magic) ||
	    memcmp(header.magic, CAPTURE_MAGIC, sizeof(header.magic)) != 0)
		return err_set(err, -EINVAL, "it is no capture of gpuprobe (.gpr)");
	if ((size_t)got < sizeof(header))
		return err_set(err, -EINVAL, "it is a capture that ends inside its header");
	if (header.version != CAPTURE_VERSION)
		return err_set(err, -EINVAL,
			       "it is a capture in version %u of the format; this gpuprobe reads "
			       "version %u",
			       header.version, CAPTURE_VERSION);
	if (header.size_bytes != sizeof(header) ||
	    header.crc != capture_crc(&header, offsetof(struct capture_file_header, crc)))
		return err_set(err, -EINVAL, "it is a capture with a damaged header");
	return 0;
}

static int compare_blocks(const void *a, const void *b)
{
	const struct capture_block *first = a, *second = b;

	if (first->first_ns != second->first_ns)
		return first->first_ns < second->first_ns ? -1 : 1;
	return (first->place > second->place) - (first->place < second->place);
}

static int reader_pass(struct capture_reader *reader, u64 file_bytes)
{
	struct pass pass = {
		.reader = reader,
		.file_bytes = file_bytes,
		.offset = sizeof(struct capture_file_header),
	};
	int result = read_blocks(&pass);

	if (result == 0)
		result = facts_finish(reader->facts);
	free(pass.room.record);
	free(pass.payload);
	free(pass.seen);
	if (result < 0)
		return result;
	reader->cut = !pass.ended;
	reader->losses[VALUE_loss_reason_block_damaged] += pass.damaged_regions;
	reader->losses[VALUE_loss_reason_fact_missing] = facts_made_up(reader->facts);
	reader->losses[VALUE_loss_reason_facts_capped] =
		facts_capped(reader->facts) + renumber_capped(reader->renumber);
	reader->losses[VALUE_loss_reason_recording_cut] = reader->cut;
	if (reader->block_count)
		qsort(reader->blocks, reader->block_count, sizeof(*reader->blocks), compare_blocks);
	return 0;
}

int capture_reader_open(int fd, struct capture_reader **ret_reader, struct err *err)
{
	struct capture_reader *reader;
	struct stat status;
	int result;

	if (fstat(fd, &status) < 0)
		return err_errno(err, -errno, "can't read it");
	if (!S_ISREG(status.st_mode))
		return err_set(err, -EINVAL, "it is no capture: it is no plain file");
	result = check_file_header(fd, status.st_size, err);
	if (result < 0)
		return result;
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return err_errno(err, -ENOMEM, "can't read the capture");
	reader->fd = fd;
	reader->first_ns = ~0ULL;
	result = renumber_create(&reader->renumber);
	if (result == 0)
		result = facts_create(reader->renumber, &reader->facts);
	if (result == 0)
		result = reader_pass(reader, status.st_size);
	if (result < 0) {
		capture_reader_free(reader);
		return err_errno(err, result, "can't read the capture");
	}
	*ret_reader = reader;
	return 0;
}

struct capture_reader *capture_reader_free(struct capture_reader *reader)
{
	if (!reader)
		return NULL;
	convert_free(reader->convert);
	schema_table_free(&reader->foreign);
	facts_free(reader->facts);
	renumber_free(reader->renumber);
	free(reader->blocks);
	free(reader);
	return NULL;
}

/* ---- what it found ---- */

bool capture_reader_cut(const struct capture_reader *reader)
{
	return reader->cut;
}

bool capture_reader_range(const struct capture_reader *reader, u64 *ret_first_ns, u64 *ret_last_ns)
{
	if (reader->first_ns > reader->last_ns)
		return false;
	*ret_first_ns = reader->first_ns;
	*ret_last_ns = reader->last_ns;
	return true;
}

bool capture_reader_knew(const struct capture_reader *reader, const char *tag)
{
	for (size_t i = 0; i < reader->foreign.kind_count; i++)
		if (!strcmp(reader->foreign.kinds[i].tag, tag))
			return true;
	return false;
}

u64 capture_reader_loss(const struct capture_reader *reader, u32 loss_reason)
{
	return loss_reason < ARRAY_SIZE(reader->losses) ? reader->losses[loss_reason] : 0;
}

const struct record_header *const *capture_facts(const struct capture_reader *reader, u16 kind,
						 size_t *ret_count)
{
	return facts_list(reader->facts, kind, ret_count);
}

const char *capture_text(const struct capture_reader *reader, u32 id)
{
	size_t count;
	const struct record_header *const *texts = capture_facts(reader, KIND_text, &count);

	if (!id || id > count)
		return NULL;
	return (const char *)((const struct record_text *)texts[id - 1] + 1);
}

size_t capture_stack(const struct capture_reader *reader, u32 id, const u64 **ret_addresses)
{
	size_t count;
	const struct record_header *const *stacks = capture_facts(reader, KIND_stack, &count);
	const struct record_stack *stack;

	*ret_addresses = NULL;
	if (!id || id > count)
		return 0;
	stack = (const struct record_stack *)stacks[id - 1];
	*ret_addresses = (const u64 *)(stack + 1);
	return stack->depth;
}
