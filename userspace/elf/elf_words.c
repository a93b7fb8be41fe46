/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/elf.h"

#define WORD_MAX_BYTES	  128
#define CHUNK_BYTES	  (1UL << 20)
#define SECTION_MAX_BYTES (256ULL << 20) /* eight times libtorch_cpu's */

/* What is at the seam of two pieces is in the second one, too. */
static bool holds(const struct elf_file *file, const GElf_Shdr *section, const char *word,
		  char *piece)
{
	size_t length = strlen(word) + 1, kept = 0;
	u64 end = section->sh_size < SECTION_MAX_BYTES ? section->sh_size : SECTION_MAX_BYTES;

	for (u64 at = 0; at < end;) {
		size_t wanted = end - at < CHUNK_BYTES ? end - at : CHUNK_BYTES;
		ssize_t bytes = elf_file_read(file, section->sh_offset + at, piece + kept, wanted);

		if (bytes <= 0)
			return false;
		if (memmem(piece, kept + (size_t)bytes, word, length))
			return true;
		at += (u64)bytes;
		bytes += (ssize_t)kept;
		kept = (size_t)bytes < length ? (size_t)bytes : length - 1;
		memmove(piece, piece + bytes - kept, kept);
	}
	return false;
}

bool elf_file_has_word(const struct elf_file *file, const char *word)
{
	static const char *const sections[] = {".dynstr", ".rodata"};
	_cleanup_free_ char *piece = malloc(CHUNK_BYTES + WORD_MAX_BYTES);
	GElf_Shdr header;

	if (!piece || strlen(word) >= WORD_MAX_BYTES)
		return false;
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		if (elf_section_find(file, sections[i], SHT_NULL, &header) &&
		    header.sh_type != SHT_NOBITS && holds(file, &header, word, piece))
			return true;
	return false;
}
