/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as a capture. Checksums would keep the fuzzer out, so the input is not the file but
 * what a file is made of: pieces {type, length, bytes}, which become blocks with sound checksums; a
 * piece of type 0 is copied as it is. The first piece may bring a table of kinds of its own, else
 * this build's is written.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "store/capture_format.h"
#include "store/capture_writer.h"
#include "touch_everything.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void append(int fd, const void *data, size_t size)
{
	lseek(fd, 0, SEEK_END);
	if (write(fd, data, size) != (ssize_t)size)
		abort();
}

static void append_block(int fd, u32 type, const u8 *payload, size_t size)
{
	static const u8 zeros[8];
	u8 copy[4096 + 8];
	struct capture_block_header header = {.magic = CAPTURE_BLOCK_MAGIC, .type = type};

	if (size > 4096)
		size = 4096;
	memcpy(copy, payload, size);
	memcpy(copy + size, zeros, sizeof(zeros));
	size = (size + 7) & ~7UL;
	header.offset = lseek(fd, 0, SEEK_END);
	header.payload_bytes = size;
	header.record_count = size / 48;
	header.payload_crc = capture_crc(copy, size);
	header.header_crc = capture_crc(&header, offsetof(struct capture_block_header, header_crc));
	append(fd, &header, sizeof(header));
	append(fd, copy, size);
}

/* The header of a file without a table of kinds. */
static void append_file_header(int fd)
{
	struct capture_file_header header = {
		.magic = CAPTURE_MAGIC, .version = CAPTURE_VERSION, .size_bytes = sizeof(header)};

	header.crc = capture_crc(&header, offsetof(struct capture_file_header, crc));
	append(fd, &header, sizeof(header));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	int fd = memfd_create("capture", MFD_CLOEXEC);
	struct capture_writer *writer;
	struct err err = {0};

	if (size && data[0] == CAPTURE_BLOCK_SCHEMA) {
		append_file_header(fd);
	} else {
		if (capture_writer_create(fd, &writer, &err) < 0)
			abort();
		capture_writer_free(writer);
	}
	while (size >= 3) {
		size_t length = data[1] | data[2] << 8;
		u8 type = data[0];

		data += 3;
		size -= 3;
		length = length < size ? length : size;
		if (type)
			append_block(fd, type, data, length);
		else
			append(fd, data, length);
		data += length;
		size -= length;
	}
	touch_everything(fd);
	close(fd);
	return 0;
}
