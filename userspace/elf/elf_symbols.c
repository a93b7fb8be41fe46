/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/elf_go_functions.h"

/*
 * The names stay in copies of the string tables that they came from, so that they outlive the
 * files. A version ("memcpy@@GLIBC_2.14") is cut off in the copy: linkers let names share tails,
 * never starts, so whoever shares the '@' has it in its own name too.
 */
#define GO_FUNCTIONS_LEAST 4096

struct symbol_storage {
	char *tables[5]; /* .symtab, .dynsym, those of two other files, Go's */
	size_t table_count;
	size_t capacity;
};

static int symbols_grow(struct elf_symbols *symbols, size_t more)
{
	struct symbol_storage *storage = symbols->storage;
	struct elf_symbol *items;

	if (symbols->count + more <= storage->capacity)
		return 0;
	items = reallocarray(symbols->items, symbols->count + more, sizeof(*items));
	if (!items)
		return -ENOMEM;
	symbols->items = items;
	storage->capacity = symbols->count + more;
	return 0;
}

/* It has a NUL behind its end, whatever the file says. Cuts versions off. Read here and not by libelf, which would
 * keep a second copy: in a large library these are 80 MB. *ret_table: NULL when it can't be read. */
static int string_table_read(struct elf_symbols *symbols, const struct elf_file *file,
			     const GElf_Shdr *header, char **ret_table)
{
	struct symbol_storage *storage = symbols->storage;
	char *table;

	*ret_table = NULL;
	if (header->sh_type == SHT_NOBITS || (header->sh_flags & SHF_COMPRESSED) ||
	    !header->sh_size || header->sh_size > ELF_SECTION_MAX_BYTES ||
	    header->sh_offset > file->size_bytes ||
	    header->sh_size > file->size_bytes - header->sh_offset)
		return 0;
	if (storage->table_count == ARRAY_SIZE(storage->tables))
		return -ENOMEM;
	table = malloc(header->sh_size + 1);
	if (!table)
		return -ENOMEM;
	if (elf_file_read(file, header->sh_offset, table, header->sh_size) !=
	    (ssize_t)header->sh_size) {
		free(table);
		return 0;
	}
	table[header->sh_size] = 0;
	for (char *at = table; (at = memchr(at, '@', header->sh_size - (size_t)(at - table))); at++)
		*at = 0;
	storage->tables[storage->table_count++] = table;
	*ret_table = table;
	return 0;
}

static bool symbol_is_function(const struct elf_file *code, const GElf_Sym *symbol)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info);
	u64 offset;

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF &&
	       symbol->st_value != 0 && !elf_file_offset(code, symbol->st_value, &offset);
}

/*
 * Adds the functions of one symbol table. `code` is the file that is mapped: a debug file has the
 * same addresses but not the bytes. Returns how many, or -errno.
 */
static ssize_t symbols_add_table(struct elf_symbols *symbols, const struct elf_file *file,
				 const struct elf_file *code, u32 type)
{
	size_t count, before = symbols->count;
	GElf_Shdr header, names_header;
	Elf_Scn *section;
	Elf_Data *data;
	char *names;

	section = elf_section_find(file, NULL, type, &header);
	if (!section || !(data = elf_section_data(file, section)))
		return 0;
	section = elf_getscn(file->elf, header.sh_link);
	if (!section || !gelf_getshdr(section, &names_header))
		return 0;
	count = data->d_size / sizeof(Elf64_Sym);
	if (symbols_grow(symbols, count) || string_table_read(symbols, file, &names_header, &names))
		return -ENOMEM;
	if (!names)
		return 0;
	for (size_t i = 0; i < count; i++) {
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_name >= names_header.sh_size ||
		    !names[symbol.st_name] || !symbol_is_function(code, &symbol))
			continue;
		symbols->items[symbols->count++] = (struct elf_symbol){
			.name = names + symbol.st_name,
			.address = symbol.st_value,
			.size_bytes = symbol.st_size,
			.ifunc = GELF_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC,
			.global = GELF_ST_BIND(symbol.st_info) != STB_LOCAL,
		};
	}
	return (ssize_t)(symbols->count - before);
}

static int symbol_compare(const void *left, const void *right)
{
	const struct elf_symbol *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* The same name at the same address, from two tables, is one symbol. */
static void symbols_merge(struct elf_symbols *symbols)
{
	size_t kept = 0;

	qsort(symbols->items, symbols->count, sizeof(*symbols->items), symbol_compare);
	for (size_t i = 0; i < symbols->count; i++) {
		struct elf_symbol *symbol = &symbols->items[i];
		struct elf_symbol *last = kept ? &symbols->items[kept - 1] : NULL;

		if (last && symbol_compare(last, symbol) == 0) {
			if (symbol->size_bytes > last->size_bytes)
				last->size_bytes = symbol->size_bytes;
			last->ifunc |= symbol->ifunc;
			last->global |= symbol->global;
		} else {
			symbols->items[kept++] = *symbol;
		}
	}
	symbols->count = kept;
}

/* The .symtab of a companion of `file`, opened as fd. A damaged one adds nothing. */
static ssize_t symbols_add_companion(struct elf_symbols *symbols, const struct elf_file *file,
				     int fd)
{
	struct elf_file *companion;
	ssize_t added;

	if (elf_file_open(fd, file->path, &companion, NULL))
		return 0;
	added = symbols_add_table(symbols, companion, file, SHT_SYMTAB);
	elf_file_free(companion);
	return added;
}

static ssize_t symbols_add_companions(struct elf_symbols *symbols, const struct elf_file *file,
				      const char *root_path)
{
	ssize_t added;

	{
		_cleanup_close_ int fd = -1;

		if (!elf_debug_file_open(file, root_path, &fd)) {
			added = symbols_add_companion(symbols, file, fd);
			symbols->from_debug_file = added > 0;
			if (added)
				return added;
		}
	}
	_cleanup_close_ int fd = -1;

	if (elf_debugdata_open(file, &fd))
		return 0;
	added = symbols_add_companion(symbols, file, fd);
	symbols->from_gnu_debugdata = added > 0;
	return added;
}

static int add_go_function(void *data, const struct elf_symbol *symbol)
{
	struct elf_symbols *symbols = data;
	struct symbol_storage *storage = symbols->storage;

	if (symbols->count == storage->capacity &&
	    symbols_grow(symbols, storage->capacity / 2 + GO_FUNCTIONS_LEAST))
		return -ENOMEM;
	symbols->items[symbols->count++] = *symbol;
	return 0;
}

/* Where nothing else names the file's functions. */
static ssize_t symbols_add_go(struct elf_symbols *symbols, const struct elf_file *file)
{
	struct symbol_storage *storage = symbols->storage;
	size_t before = symbols->count;
	char *names;
	int result;

	if (storage->table_count == ARRAY_SIZE(storage->tables))
		return 0;
	result = elf_go_functions_visit(file, add_go_function, symbols, &names);
	if (result)
		return result == -ENOMEM ? result : 0;
	storage->tables[storage->table_count++] = names;
	symbols->from_go_table = symbols->count > before;
	return (ssize_t)(symbols->count - before);
}

int elf_symbols_load(struct elf_file *file, const char *root_path, struct elf_symbols *ret_symbols,
		     struct err *err)
{
	struct elf_symbols symbols = {.storage = calloc(1, sizeof(struct symbol_storage))};
	ssize_t own, added = 0;

	if (!symbols.storage)
		return err_errno(err, -ENOMEM, "can't read the symbols of %s", file->path);
	own = symbols_add_table(&symbols, file, file, SHT_SYMTAB);
	if (own >= 0)
		added = symbols_add_table(&symbols, file, file, SHT_DYNSYM);
	if (own == 0 && added >= 0)
		added = symbols_add_companions(&symbols, file, root_path);
	if (own == 0 && added == 0)
		added = symbols_add_go(&symbols, file);
	if (own < 0 || added < 0) {
		elf_symbols_free(&symbols);
		return err_errno(err, -ENOMEM, "can't read the symbols of %s", file->path);
	}
	symbols.stripped = own == 0 && !symbols.from_debug_file && !symbols.from_gnu_debugdata &&
			   !symbols.from_go_table;
	if (symbols.count)
		symbols_merge(&symbols);
	*ret_symbols = symbols;
	return 0;
}

void elf_symbols_free(struct elf_symbols *symbols)
{
	struct symbol_storage *storage = symbols->storage;

	for (size_t i = 0; storage && i < storage->table_count; i++)
		free(storage->tables[i]);
	free(storage);
	free(symbols->items);
	*symbols = (struct elf_symbols){0};
}

size_t elf_symbols_up_to(const struct elf_symbols *symbols, u64 address)
{
	size_t low = 0, high = symbols->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->items[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- without names ---- */

static ssize_t extents_add(const struct elf_file *file, u32 type, struct elf_extent **extents,
			   size_t count)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_section_find(file, NULL, type, &header);
	Elf_Data *data = section ? elf_section_data(file, section) : NULL;
	size_t more = data ? data->d_size / sizeof(Elf64_Sym) : 0;
	struct elf_extent *items = reallocarray(*extents, count + more + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	*extents = items;
	for (size_t i = 0; i < more; i++) {
		GElf_Sym symbol;

		if (gelf_getsym(data, (int)i, &symbol) && symbol_is_function(file, &symbol))
			items[count++] = (struct elf_extent){symbol.st_value, symbol.st_size};
	}
	return (ssize_t)count;
}

/* The longest of those that begin together first. */
static int extent_compare(const void *left, const void *right)
{
	const struct elf_extent *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->size_bytes < b->size_bytes) - (a->size_bytes > b->size_bytes);
}

ssize_t elf_file_functions(const struct elf_file *file, struct elf_extent **ret_extents)
{
	_cleanup_free_ struct elf_extent *extents = NULL;
	ssize_t count = extents_add(file, SHT_SYMTAB, &extents, 0), kept = 0;

	if (count >= 0)
		count = extents_add(file, SHT_DYNSYM, &extents, (size_t)count);
	if (count < 0)
		return count;
	qsort(extents, (size_t)count, sizeof(*extents), extent_compare);
	for (ssize_t i = 0; i < count; i++)
		if (!kept || extents[i].address != extents[kept - 1].address)
			extents[kept++] = extents[i];
	*ret_extents = take_pointer(&extents);
	return kept;
}
