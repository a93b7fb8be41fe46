/* SPDX-License-Identifier: GPL-2.0-or-later */
/* "MiniDebugInfo": a small ELF file with a .symtab, packed by xz into .gnu_debugdata (Fedora,
 * RHEL). */
#include "elf/elf.h"

#include <errno.h>
#include <lzma.h>
#include <stdio.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/file.h"

/* A few hundred bytes of xz can claim any amount: bound what the decoder takes and what comes out.
 */
#define DECODER_MEMORY_MAX_BYTES (128ULL << 20)
#define UNPACKED_MAX_BYTES	 (128ULL << 20)
#define CHUNK_BYTES		 65536

static int unpack(lzma_stream *stream, int fd)
{
	u8 chunk[CHUNK_BYTES];

	for (;;) {
		lzma_ret result;
		size_t produced;

		stream->next_out = chunk;
		stream->avail_out = sizeof(chunk);
		result = lzma_code(stream, LZMA_FINISH);
		produced = sizeof(chunk) - stream->avail_out;
		if (stream->total_out > UNPACKED_MAX_BYTES || file_write(fd, chunk, produced))
			return -EFBIG;
		if (result == LZMA_STREAM_END)
			return 0;
		if (result != LZMA_OK)
			return -EBADMSG;
	}
}

int elf_debugdata_open(const struct elf_file *file, int *ret_fd)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	GElf_Shdr header;
	Elf_Scn *section = elf_section_find(file, ".gnu_debugdata", SHT_PROGBITS, &header);
	Elf_Data *data = section ? elf_section_data(file, section) : NULL;
	_cleanup_close_ int fd = -1;
	int result;

	if (!data)
		return -ENOENT;
	fd = memfd_create("gnu_debugdata", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (lzma_stream_decoder(&stream, DECODER_MEMORY_MAX_BYTES, 0) != LZMA_OK)
		return -ENOMEM;
	stream.next_in = data->d_buf;
	stream.avail_in = data->d_size;
	result = unpack(&stream, fd);
	lzma_end(&stream);
	if (result)
		return result;
	*ret_fd = take_fd(&fd);
	return 0;
}
