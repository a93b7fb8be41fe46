/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/unwind_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache_folder.h"
#include "base/cleanup.h"
#include "base/sha256.h"
#include "elf/elf_identity.h"
#include "unwind/unwind_image.h"

#define MAGIC "gprows\n"
#define VERSION \
	6 /* of what elf_unwind_rows_read() makes of a file and of the image: a change there is a change here */

/* The stored file: this, and the image of the table. */
struct cache_header {
	char magic[8];
	u32 version, padding;
	struct elf_identity identity;
	u8 digest[SHA256_BYTES]; /* of what the table is made of; by content only */
};

struct cache {
	int folder_fd;
	char name[ELF_IDENTITY_NAME_BYTES];
	struct elf_identity identity;
	u8 digest[SHA256_BYTES];
};

/* False: nothing is kept of it. Without the processor's instructions for it a digest takes as long as making the table. */
static bool cache_begin(struct cache *cache, int fd, const struct elf_file *file)
{
	if (cache->folder_fd < 0 || !elf_identity_read(file, fd, &cache->identity) ||
	    cache->identity.size_bytes < UNWIND_CACHE_LEAST_BYTES)
		return false;
	elf_identity_name(&cache->identity, cache->name);
	if (!cache->identity.by_content)
		return true;
	return sha256_is_fast() && !elf_unwind_rows_digest(file, cache->digest);
}

/* ---- what was stored ---- */

static bool is_ours(const struct cache *cache, const struct cache_header *header)
{
	return !memcmp(header->magic, MAGIC, sizeof(header->magic)) && header->version == VERSION &&
	       elf_identity_agrees(&header->identity, &cache->identity) &&
	       (!cache->identity.by_content ||
		!memcmp(header->digest, cache->digest, sizeof(cache->digest)));
}

static int restore(const struct cache *cache, struct elf_unwind_rows *ret_rows)
{
	_cleanup_free_ u8 *bytes = NULL;
	struct cache_header header;
	size_t size;

	if (cache_folder_read(cache->folder_fd, cache->name, &bytes, &size) ||
	    size < sizeof(header))
		return -ENOENT;
	memcpy(&header, bytes, sizeof(header));
	if (!is_ours(cache, &header))
		return -ENOENT;
	return unwind_image_read(bytes + sizeof(header), size - sizeof(header), ret_rows);
}

/* ---- storing ---- */

/* A file that is written to while it is read is not kept. Who does so on purpose spoils the table of his own file. */
static bool is_unchanged(const struct cache *cache, const struct elf_file *file)
{
	u8 digest[SHA256_BYTES];

	return !cache->identity.by_content || (!elf_unwind_rows_digest(file, digest) &&
					       !memcmp(digest, cache->digest, sizeof(digest)));
}

/* Best effort. */
static bool store(const struct cache *cache, const struct elf_unwind_rows *rows)
{
	struct cache_header header = {
		.magic = MAGIC, .version = VERSION, .identity = cache->identity};
	size_t size = sizeof(header) + unwind_image_bytes(rows);
	_cleanup_free_ u8 *bytes = malloc(size);

	if (!bytes)
		return false;
	memcpy(header.digest, cache->digest, sizeof(header.digest));
	memcpy(bytes, &header, sizeof(header));
	unwind_image_write(rows, bytes + sizeof(header));
	return !cache_folder_write(cache->folder_fd, cache->name, bytes, size);
}

int unwind_cache_rows(int folder_fd, struct row_reader *reader, int fd, const struct elf_file *file,
		      const char *path, struct elf_unwind_rows *ret_rows,
		      enum unwind_cache_result *ret_result, struct err *err)
{
	struct cache cache = {.folder_fd = folder_fd};
	enum unwind_cache_result ignored, *became = ret_result ? ret_result : &ignored;
	bool keeps = cache_begin(&cache, fd, file);
	int result;

	*became = UNWIND_CACHE_UNUSED;
	if (keeps && !restore(&cache, ret_rows)) {
		*became = UNWIND_CACHE_FOUND;
		return 0;
	}
	result = row_reader_rows(reader, fd, path, ret_rows, err);
	if (!result && keeps && is_unchanged(&cache, file) && store(&cache, ret_rows))
		*became = UNWIND_CACHE_STORED;
	return result;
}
