/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code/code_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cache_folder.h"
#include "base/cleanup.h"
#include "elf/elf_identity.h"

#define MAGIC	  "gpcode\n"
#define VERSION	  1 /* of what code_scan() finds: a change there is a change here */
#define PAGES_MAX 4096
#define BASES_MAX (2 << 20)

/* The stored file: this, its pages, its bases as distances from the lowest (by content only). */
struct cache_header {
	char magic[8];
	u32 version, page_count;
	struct elf_identity key;
	u8 digest[SHA256_BYTES]; /* of the text; of a file of root's, of the pages that are kept */
	u64 base_count, lowest_base;
};

struct cache {
	int folder_fd;
	const struct elf_file *file;
	const struct elf_symbols *symbols;
	struct elf_identity key;
	char name[ELF_IDENTITY_NAME_BYTES];
	u8 *bytes; /* what was stored, NULL: nothing that can be used */
	struct cache_header header;
};

/* False: nothing is kept of it. */
static bool key_make(struct cache *cache, int fd)
{
	if (!elf_identity_read(cache->file, fd, &cache->key))
		return false;
	elf_identity_name(&cache->key, cache->name);
	/* Addresses in data of one that is not moved are found by going through them all; and without its instructions a digest
	 * takes the processor longer than going through the code. */
	return !cache->key.by_content || (elf_file_is_movable(cache->file) && sha256_is_fast());
}

/* ---- what was stored ---- */

static const struct code_page *pages_of(const struct cache *cache)
{
	return (const struct code_page *)(cache->bytes + sizeof(cache->header));
}

static void load(struct cache *cache)
{
	struct cache_header *header = &cache->header;
	size_t size;

	if (cache_folder_read(cache->folder_fd, cache->name, &cache->bytes, &size))
		return;
	if (size >= sizeof(*header))
		memcpy(header, cache->bytes, sizeof(*header));
	if (size < sizeof(*header) || memcmp(header->magic, MAGIC, sizeof(header->magic)) ||
	    header->version != VERSION || header->page_count > PAGES_MAX ||
	    header->base_count > BASES_MAX ||
	    size != sizeof(*header) + header->page_count * sizeof(struct code_page) +
			    header->base_count * sizeof(u32) ||
	    !elf_identity_agrees(&header->key, &cache->key)) {
		free(cache->bytes);
		cache->bytes = NULL;
	}
}

static int bases_restore(const struct cache *cache, struct code_bases *bases)
{
	const u8 *stored = (const u8 *)(pages_of(cache) + cache->header.page_count);

	if (array_reserve(&bases->items, &bases->capacity, cache->header.base_count))
		return -ENOMEM;
	for (u64 i = 0; i < cache->header.base_count; i++) {
		u32 distance;

		memcpy(&distance, stored + i * sizeof(distance), sizeof(distance));
		bases->items[bases->count++] = cache->header.lowest_base + distance;
	}
	return 0;
}

/* Of the bytes that the pages have now. */
static void pages_digest(const struct cache *cache, const struct code_page *pages, size_t count,
			 u8 *ret_digest)
{
	u8 bytes[CODE_PAGE_BYTES];
	struct sha256 sha;

	sha256_begin(&sha);
	for (size_t i = 0; i < count; i++) {
		u64 size =
			elf_file_read_address(cache->file, pages[i].address, bytes, sizeof(bytes));

		sha256_add(&sha, &pages[i].address, sizeof(pages[i].address));
		sha256_add(&sha, &size, sizeof(size));
		sha256_add(&sha, bytes, size);
	}
	sha256_end(&sha, ret_digest);
}

/* Is what the digest is of as it was? */
static bool is_unchanged(const struct cache *cache)
{
	u8 digest[SHA256_BYTES];

	if (!cache->key.by_content)
		pages_digest(cache, pages_of(cache), cache->header.page_count, digest);
	else if (code_text_digest(cache->file, cache->symbols, digest))
		return false;
	return !memcmp(digest, cache->header.digest, sizeof(digest));
}

/* NULL: it does not know enough, or of other code. */
static struct code_references *restore(const struct cache *cache, const struct code_span *keep,
				       size_t keep_count)
{
	struct code_references *references = NULL;
	struct code_bases bases = {0};
	int result = cache->bytes
			     ? code_references_of_file(cache->file, cache->symbols, &references)
			     : -ENOENT;

	for (size_t i = 0; i < cache->header.page_count && !result; i++)
		result = code_references_add_page(references, &pages_of(cache)[i]);
	for (size_t i = 0; i < keep_count && !result; i++)
		if (!code_references_keeps(references, keep[i].first, keep[i].last))
			result = -ENOENT;
	if (!result && !is_unchanged(cache))
		result = -ENOENT;
	if (!result && cache->key.by_content) {
		result = bases_restore(cache, &bases);
		if (!result)
			result = code_scan_follow(cache->file, cache->symbols, &bases, references);
	}
	free(bases.items);
	return result ? code_references_free(references) : references;
}

/* ---- storing ---- */

static void bases_store(const struct code_bases *bases, u64 lowest, u8 *to)
{
	for (size_t i = 0; i < bases->count; i++) {
		u32 distance = (u32)(bases->items[i] - lowest);

		memcpy(to + i * sizeof(distance), &distance, sizeof(distance));
	}
}

/* Best effort. */
static bool store(const struct cache *cache, const struct code_references *references,
		  const struct code_text *text)
{
	const struct code_bases *bases = &text->bases;
	const struct code_page *pages;
	size_t page_count = code_references_pages(references, &pages), size;
	struct cache_header header = {.magic = MAGIC,
				      .version = VERSION,
				      .page_count = (u32)page_count,
				      .key = cache->key,
				      .base_count = bases->count,
				      .lowest_base = bases->count ? bases->items[0] : 0};
	_cleanup_free_ u8 *bytes = NULL;

	if (!page_count || page_count > PAGES_MAX || bases->count > BASES_MAX ||
	    (bases->count && bases->items[bases->count - 1] - bases->items[0] > UINT32_MAX))
		return false;
	size = sizeof(header) + page_count * sizeof(*pages) + bases->count * sizeof(u32);
	bytes = calloc(1, size);
	if (!bytes)
		return false;
	memcpy(bytes + sizeof(header), pages, page_count * sizeof(*pages));
	bases_store(bases, header.lowest_base,
		    bytes + sizeof(header) + page_count * sizeof(*pages));
	if (cache->key.by_content)
		memcpy(header.digest, text->digest, sizeof(header.digest));
	else
		pages_digest(cache, pages, page_count, header.digest);
	memcpy(bytes, &header, sizeof(header));
	return !cache_folder_write(cache->folder_fd, cache->name, bytes, size);
}

/* What others asked for is found out again beside: who records now these functions, now those, goes through the code twice. */
static int spans_join(const struct cache *cache, const struct code_span *keep, size_t keep_count,
		      struct code_span **ret_spans, size_t *ret_count)
{
	size_t stored = cache->bytes ? cache->header.page_count : 0;
	struct code_span *spans = calloc(keep_count + stored + 1, sizeof(*spans));

	if (!spans)
		return -ENOMEM;
	memcpy(spans, keep, keep_count * sizeof(*keep));
	for (size_t i = 0; i < stored; i++)
		spans[keep_count + i] =
			(struct code_span){pages_of(cache)[i].address, pages_of(cache)[i].address};
	*ret_spans = spans;
	*ret_count = keep_count + stored;
	return 0;
}

static int scan_and_store(const struct cache *cache, const struct code_span *keep,
			  size_t keep_count, struct code_references **ret_references,
			  enum code_cache_result *ret_result)
{
	_cleanup_free_ struct code_span *spans = NULL;
	struct code_text text = {0};
	size_t count = 0;
	int result = spans_join(cache, keep, keep_count, &spans, &count);

	if (!result)
		result = code_scan(cache->file, cache->symbols, spans, count,
				   cache->key.by_content ? &text : NULL, ret_references);
	if (!result && store(cache, *ret_references, &text))
		*ret_result = CODE_CACHE_STORED;
	free(text.bases.items);
	return result;
}

int code_cache_scan(int folder_fd, int fd, const struct elf_file *file,
		    const struct elf_symbols *symbols, const struct code_span *keep,
		    size_t keep_count, struct code_references **ret_references,
		    enum code_cache_result *ret_result)
{
	struct cache cache = {.folder_fd = folder_fd, .file = file, .symbols = symbols};
	enum code_cache_result ignored, *became = ret_result ? ret_result : &ignored;
	int result = 0;

	*became = CODE_CACHE_UNUSED;
	if (folder_fd < 0 || !keep || !key_make(&cache, fd))
		return code_scan(file, symbols, keep, keep_count, NULL, ret_references);
	load(&cache);
	*ret_references = restore(&cache, keep, keep_count);
	if (*ret_references)
		*became = CODE_CACHE_FOUND;
	else
		result = scan_and_store(&cache, keep, keep_count, ret_references, became);
	free(cache.bytes);
	return result;
}
