/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One symbol by its name, as the dynamic linker finds it: by the hashes of the file, without going through its symbols. */
#include "elf/elf.h"

#include <errno.h>
#include <string.h>

#include "base/types.h"

#define NAME_MAX_BYTES 128
#define CHAIN_MAX      (1 << 16)

struct gnu_hash {
	u32 bucket_count, first_symbol, bloom_words, bloom_shift;
};

static u32 hash_of(const char *name)
{
	u32 hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (u8)*name;
	return hash;
}

static bool read_u32(const struct elf_file *file, u64 address, u32 *ret_value)
{
	return elf_file_read_address(file, address, ret_value, sizeof(*ret_value)) ==
	       sizeof(*ret_value);
}

static bool is_named(const struct elf_file *file, u64 strings, const Elf64_Sym *symbol,
		     const char *name)
{
	char found[NAME_MAX_BYTES];
	size_t size = strlen(name) + 1;

	return size <= sizeof(found) &&
	       elf_file_read_address(file, strings + symbol->st_name, found, size) == size &&
	       !memcmp(found, name, size);
}

int elf_file_dynamic_symbol(const struct elf_file *file, const char *name, u64 *ret_address)
{
	u64 table, symbols, strings, buckets, chains;
	struct gnu_hash head;
	u32 hash = hash_of(name), index, link = 0;

	if (!elf_dynamic_find(file, DT_GNU_HASH, &table) ||
	    !elf_dynamic_find(file, DT_SYMTAB, &symbols) ||
	    !elf_dynamic_find(file, DT_STRTAB, &strings) ||
	    elf_file_read_address(file, table, &head, sizeof(head)) != sizeof(head) ||
	    !head.bucket_count)
		return -ENOENT;
	buckets = table + sizeof(head) + 8ULL * head.bloom_words;
	chains = buckets + 4ULL * head.bucket_count;
	if (!read_u32(file, buckets + 4ULL * (hash % head.bucket_count), &index) ||
	    index < head.first_symbol)
		return -ENOENT;
	/* The lowest bit ends a chain. */
	for (u32 i = 0; i < CHAIN_MAX && !(link & 1); i++, index++) {
		Elf64_Sym symbol;

		if (!read_u32(file, chains + 4ULL * (index - head.first_symbol), &link))
			return -ENOENT;
		if ((link | 1) != (hash | 1) ||
		    elf_file_read_address(file, symbols + (u64)index * sizeof(symbol), &symbol,
					  sizeof(symbol)) != sizeof(symbol) ||
		    !is_named(file, strings, &symbol, name))
			continue;
		if (symbol.st_shndx == SHN_UNDEF || !symbol.st_value)
			return -ENOENT;
		*ret_address = symbol.st_value;
		return 0;
	}
	return -ENOENT;
}
