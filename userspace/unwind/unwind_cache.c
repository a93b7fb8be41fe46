/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/unwind_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache_folder.h"
#include "base/cleanup.h"
#include "base/sha256.h"
#include "elf/elf_identity.h"

#define MAGIC "gprows\n"
#define VERSION \
	2 /* of what elf_unwind_rows_read() makes of a file: a change there is a change here */

/* The stored file: this, page_first, rows, rules. */
struct cache_header {
	char magic[8];
	u32 version, rule_count;
	struct elf_identity identity;
	u8 digest[SHA256_BYTES]; /* of what the table is made of; by content only */
	u64 first_page;
	u32 page_count, row_count, fde_count, padding;
	u64 code_bytes, uncovered_bytes, unsupported_bytes;
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

static u64 bytes_behind(const struct cache_header *header)
{
	return ((u64)header->page_count + 1 + header->row_count) * sizeof(u32) +
	       (u64)header->rule_count * sizeof(struct unwind_rule);
}

static bool is_ours(const struct cache *cache, const struct cache_header *header, size_t size)
{
	return !memcmp(header->magic, MAGIC, sizeof(header->magic)) && header->version == VERSION &&
	       size == sizeof(*header) + bytes_behind(header) &&
	       elf_identity_agrees(&header->identity, &cache->identity) &&
	       (!cache->identity.by_content ||
		!memcmp(header->digest, cache->digest, sizeof(cache->digest)));
}

/* Pages one behind the other, each with a row at its start and the others sorted behind it; each with a rule that there is. */
static bool is_sound(const struct elf_unwind_rows *rows)
{
	if (!rows->rule_count || rows->page_first[0] ||
	    rows->page_first[rows->page_count] != rows->row_count)
		return false;
	for (u32 page = 0; page < rows->page_count; page++) {
		u32 first = rows->page_first[page], end = rows->page_first[page + 1];

		if (end <= first || end > rows->row_count || UNWIND_ROW_ADDRESS(rows->rows[first]))
			return false;
		for (u32 i = first; i < end; i++)
			if (UNWIND_ROW_RULE(rows->rows[i]) >= rows->rule_count ||
			    (i > first && UNWIND_ROW_ADDRESS(rows->rows[i]) <=
						  UNWIND_ROW_ADDRESS(rows->rows[i - 1])))
				return false;
	}
	return true;
}

static int copy(const u8 **at, void *ret_items, size_t bytes)
{
	void **items = ret_items;

	*items = malloc(bytes + 1);
	if (!*items)
		return -ENOMEM;
	memcpy(*items, *at, bytes);
	*at += bytes;
	return 0;
}

static int restore(const struct cache *cache, struct elf_unwind_rows *ret_rows)
{
	_cleanup_free_ u8 *bytes = NULL;
	struct cache_header header;
	struct elf_unwind_rows rows;
	const u8 *at;
	size_t size;

	if (cache_folder_read(cache->folder_fd, cache->name, &bytes, &size) ||
	    size < sizeof(header))
		return -ENOENT;
	memcpy(&header, bytes, sizeof(header));
	if (!is_ours(cache, &header, size))
		return -ENOENT;
	rows = (struct elf_unwind_rows){.first_page = header.first_page,
					.page_count = header.page_count,
					.row_count = header.row_count,
					.rule_count = header.rule_count,
					.fde_count = header.fde_count,
					.code_bytes = header.code_bytes,
					.uncovered_bytes = header.uncovered_bytes,
					.unsupported_bytes = header.unsupported_bytes};
	at = bytes + sizeof(header);
	if (copy(&at, &rows.page_first, ((size_t)rows.page_count + 1) * sizeof(u32)) ||
	    copy(&at, &rows.rows, (size_t)rows.row_count * sizeof(u32)) ||
	    copy(&at, &rows.rules, (size_t)rows.rule_count * sizeof(struct unwind_rule)) ||
	    !is_sound(&rows)) {
		elf_unwind_rows_free(&rows);
		return -ENOENT;
	}
	*ret_rows = rows;
	return 0;
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
	struct cache_header header = {.magic = MAGIC,
				      .version = VERSION,
				      .rule_count = rows->rule_count,
				      .identity = cache->identity,
				      .first_page = rows->first_page,
				      .page_count = rows->page_count,
				      .row_count = rows->row_count,
				      .fde_count = rows->fde_count,
				      .code_bytes = rows->code_bytes,
				      .uncovered_bytes = rows->uncovered_bytes,
				      .unsupported_bytes = rows->unsupported_bytes};
	size_t size = sizeof(header) + bytes_behind(&header);
	size_t page_bytes = ((size_t)rows->page_count + 1) * sizeof(u32),
	       row_bytes = (size_t)rows->row_count * sizeof(u32);
	_cleanup_free_ u8 *bytes = malloc(size);

	if (!bytes)
		return false;
	memcpy(header.digest, cache->digest, sizeof(header.digest));
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), rows->page_first, page_bytes);
	memcpy(bytes + sizeof(header) + page_bytes, rows->rows, row_bytes);
	memcpy(bytes + sizeof(header) + page_bytes + row_bytes, rows->rules,
	       (size_t)rows->rule_count * sizeof(*rows->rules));
	return !cache_folder_write(cache->folder_fd, cache->name, bytes, size);
}

int unwind_cache_rows(int folder_fd, int fd, const struct elf_file *file,
		      struct elf_unwind_rows *ret_rows, enum unwind_cache_result *ret_result,
		      struct err *err)
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
	result = elf_unwind_rows_read(file, ret_rows, err);
	if (!result && keeps && is_unchanged(&cache, file) && store(&cache, ret_rows))
		*became = UNWIND_CACHE_STORED;
	return result;
}
