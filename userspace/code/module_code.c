/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code/module_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "code/code_cache.h"
#include "code/cold_parts.h"
#include "base/array.h"
#include "base/cleanup.h"

#define FUNCTION_MAX_BYTES     (16ULL << 20)
#define UNKNOWN_SIZE_MAX_BYTES 32
#define PARTS_MAX	       16
#define SMALL_READ_BYTES       64

/* What was read last. */
struct read_window {
	u64 address;
	size_t size;
	u8 bytes[4096];
};

struct module_code {
	struct read_window *window;
	int fd, cache_folder_fd;
	struct elf_file *file;
	struct elf_symbols symbols;
	struct decoder *decoder;
	struct cold_parts *cold;
	struct code_span *expected; /* parts of functions */
	size_t expected_count, expected_capacity;
	bool scanned, scanned_all;
	struct code_references *references; /* NULL: not known */
	/* Of the function that was read last. */
	struct code_range ranges[PARTS_MAX];
	size_t range_count;
	bool size_unknown;
};

int module_code_open(int fd, const char *path, const char *root_path, struct module_code **ret_code,
		     struct err *err)
{
	struct module_code *code = calloc(1, sizeof(*code));
	int result;

	if (!code)
		return err_errno(err, -ENOMEM, "can't read %s", path);
	code->window = calloc(1, sizeof(*code->window));
	if (!code->window) {
		free(code);
		return err_errno(err, -ENOMEM, "can't read %s", path);
	}
	code->fd = fd;
	code->cache_folder_fd = -1;
	result = elf_file_open(fd, path, &code->file, err);
	if (!result)
		result = elf_symbols_load(code->file, root_path, &code->symbols, err);
	if (!result)
		result = decoder_create(&code->decoder, err);
	if (!result && cold_parts_create(&code->symbols, &code->cold))
		result = err_errno(err, -ENOMEM, "can't read the symbols of %s", path);
	if (result) {
		module_code_free(code);
		return result;
	}
	*ret_code = code;
	return 0;
}

static void ranges_free(struct module_code *code)
{
	for (size_t r = 0; r < code->range_count; r++)
		free((void *)code->ranges[r].bytes);
	code->range_count = 0;
}

struct module_code *module_code_free(struct module_code *code)
{
	if (!code)
		return NULL;
	ranges_free(code);
	code_references_free(code->references);
	free(code->expected);
	free(code->window);
	decoder_free(code->decoder);
	cold_parts_free(code->cold);
	elf_symbols_free(&code->symbols);
	elf_file_free(code->file);
	free(code);
	return NULL;
}

struct elf_file *module_code_file(const struct module_code *code)
{
	return code->file;
}

const struct elf_symbols *module_code_symbols(const struct module_code *code)
{
	return &code->symbols;
}

/* ---- what refers to its code ---- */

/* Entries of jump tables are asked for one by one. */
static size_t read_address(const void *data, u64 address, void *ret_bytes, size_t size)
{
	const struct module_code *code = data;
	struct read_window *window = code->window;
	u64 inside = address - window->address;

	if (size > SMALL_READ_BYTES)
		return elf_file_read_address(code->file, address, ret_bytes, size);
	if (inside >= window->size || window->size - inside < size) {
		window->address = address;
		window->size = elf_file_read_address(code->file, address, window->bytes,
						     sizeof(window->bytes));
		inside = 0;
	}
	if (size > window->size - inside)
		size = window->size - inside;
	memcpy(ret_bytes, window->bytes + inside, size);
	return size;
}

/* ---- a function ---- */

static int symbol_address_compare(const void *key, const void *item)
{
	u64 address = *(const u64 *)key;
	const struct elf_symbol *symbol = item;

	return address < symbol->address ? -1 : address > symbol->address;
}

/* The first of the symbols at an address, NULL: none. */
static const struct elf_symbol *symbol_find(const struct module_code *code, u64 address)
{
	const struct elf_symbol *symbol =
		code->symbols.count ? bsearch(&address, code->symbols.items, code->symbols.count,
					      sizeof(*code->symbols.items), symbol_address_compare)
				    : NULL;

	while (symbol && symbol > code->symbols.items && symbol[-1].address == address)
		symbol--;
	return symbol;
}

static bool is_function(const void *data, u64 address)
{
	const struct module_code *code = data;
	const struct elf_symbol *symbol = symbol_find(code, address);
	const struct elf_symbol *end = code->symbols.items + code->symbols.count;

	for (; symbol && symbol < end && symbol->address == address; symbol++) {
		if (!cold_part_is_name(symbol->name))
			return true;
	}
	return false;
}

static bool has_range(const struct module_code *code, u64 address)
{
	for (size_t r = 0; r < code->range_count; r++) {
		if (code->ranges[r].address == address)
			return true;
	}
	return false;
}

/* Adds [address, address + size) to the ranges. -ENOENT: it is not in the file as a whole. */
static int range_read(struct module_code *code, u64 address, u64 size, bool uncertain)
{
	struct code_range range = {.address = address, .size_bytes = size, .uncertain = uncertain};
	u64 last_offset;
	u8 *bytes;

	if (has_range(code, address))
		return 0;
	if (!size || size > FUNCTION_MAX_BYTES || code->range_count == PARTS_MAX ||
	    elf_file_offset(code->file, address, &range.file_offset) ||
	    elf_file_offset(code->file, address + size - 1, &last_offset) ||
	    last_offset - range.file_offset != size - 1)
		return -ENOENT;
	bytes = malloc(size);
	if (!bytes)
		return -ENOMEM;
	if (elf_file_read(code->file, range.file_offset, bytes, size) != (ssize_t)size) {
		free(bytes);
		return -ENOENT;
	}
	range.bytes = bytes;
	code->ranges[code->range_count++] = range;
	return 0;
}

/* The parts that are named after one name of the function. */
static int cold_parts_read(struct module_code *code, const char *name)
{
	const struct elf_symbol *const *parts;
	unsigned functions;
	size_t count = cold_parts_find(code->cold, name, &parts, &functions);
	int result = 0;

	for (size_t i = 0; i < count && !result; i++)
		result = range_read(code, parts[i]->address, parts[i]->size_bytes, functions > 1);
	return result;
}

/* A function of unknown size ends before the next symbol, or earlier. */
static u64 unknown_size(const struct module_code *code, const struct elf_symbol *next, u64 address)
{
	u64 size = UNKNOWN_SIZE_MAX_BYTES, offset, end;

	if (next < code->symbols.items + code->symbols.count && next->address - address < size)
		size = next->address - address;
	while (size && (elf_file_offset(code->file, address + size - 1, &end) ||
			elf_file_offset(code->file, address, &offset)))
		size--;
	return size;
}

static int function_read(struct module_code *code, u64 address, struct function_code *ret_function)
{
	const struct elf_symbol *symbol = symbol_find(code, address), *next;
	const struct elf_symbol *end = code->symbols.items + code->symbols.count;
	u64 size = 0;
	int result;

	ranges_free(code);
	code->size_unknown = false;
	for (next = symbol; next && next < end && next->address == address; next++)
		size = next->size_bytes > size ? next->size_bytes : size;
	if (!symbol)
		return -ENOENT;
	if (!size || range_read(code, address, size, false)) {
		code->size_unknown = true;
		result = range_read(code, address, unknown_size(code, next, address), false);
		if (result)
			return result;
	}
	for (result = 0; symbol < next && !result; symbol++)
		result = cold_parts_read(code, symbol->name);
	if (result == -ENOENT)
		code->size_unknown = true;
	*ret_function = (struct function_code){
		.ranges = code->ranges,
		.range_count = code->range_count,
		.size_unknown = code->size_unknown,
		.references = code->references,
		.is_function = is_function,
		.read = read_address,
		.data = code,
	};
	return result == -ENOENT ? 0 : result;
}

/* ---- what refers to it ---- */

static struct code_span span_of(const struct code_range *range)
{
	return (struct code_span){range->address, range->address + range->size_bytes - 1};
}

void module_code_use_cache(struct module_code *code, int folder_fd)
{
	code->cache_folder_fd = folder_fd;
}

int module_code_expect(struct module_code *code, u64 address)
{
	struct function_code function;

	if (function_read(code, address, &function))
		return 0;
	if (array_reserve(&code->expected, &code->expected_capacity,
			  code->expected_count + function.range_count))
		return -ENOMEM;
	for (size_t r = 0; r < function.range_count; r++)
		code->expected[code->expected_count++] = span_of(&function.ranges[r]);
	return 0;
}

static bool is_expected(const struct module_code *code, const struct code_range *range)
{
	struct code_span span = span_of(range);

	for (size_t i = 0; i < code->expected_count; i++)
		if (code->expected[i].first <= span.first && code->expected[i].last >= span.last)
			return true;
	return false;
}

static bool are_all_expected(const struct module_code *code, const struct function_code *function)
{
	for (size_t r = 0; r < function->range_count; r++)
		if (!is_expected(code, &function->ranges[r]))
			return false;
	return true;
}

static bool are_all_kept(const struct module_code *code, const struct function_code *function)
{
	for (size_t r = 0; r < function->range_count; r++) {
		struct code_span span = span_of(&function->ranges[r]);

		if (!code_references_keeps(code->references, span.first, span.last))
			return false;
	}
	return true;
}

/* Of a function that was read. What could not be gone through is not known: no placement. */
static void references_need(struct module_code *code, struct function_code *function)
{
	bool all = code->scanned || !are_all_expected(code, function);

	if (code->scanned_all ||
	    (code->scanned && (!code->references || are_all_kept(code, function))))
		return;
	code->scanned = true;
	code->scanned_all = all;
	code_references_free(code->references);
	(void)code_cache_scan(code->cache_folder_fd, code->fd, code->file, &code->symbols,
			      all ? NULL : code->expected, code->expected_count, &code->references,
			      NULL);
	function->references = code->references;
}

const char *module_code_place_quickly(struct module_code *code, u64 address,
				      struct function_place *ret_place)
{
	struct function_code function;

	if (function_read(code, address, &function))
		return "its first instruction can't be read from the file";
	function.references = NULL;
	return function_code_place(code->decoder, &function, 0, ret_place);
}

const char *module_code_place(struct module_code *code, u64 address, unsigned allowed,
			      struct function_place *ret_place)
{
	/* Most are good as they are; what refers to where, which takes long to find out, they need not know. */
	const char *refused = module_code_place_quickly(code, address, ret_place);
	struct function_code function;

	if (refused || ret_place->cost == COST_CHEAP)
		return refused;
	if (function_read(code, address, &function))
		return "its first instruction can't be read from the file";
	references_need(code, &function);
	return function_code_place(code->decoder, &function, allowed, ret_place);
}

bool module_code_place_first(struct module_code *code, u64 address,
			     struct function_place *ret_place)
{
	struct function_code function;

	if (function_read(code, address, &function))
		return false;
	function_code_place_first(code->decoder, &function, ret_place);
	return true;
}

int module_code_returns(struct module_code *code, u64 address, struct return_site **ret_sites,
			size_t *ret_count, const char **ret_reason)
{
	struct function_code function;
	int result = function_read(code, address, &function);

	if (result == -ENOENT) {
		*ret_sites = NULL;
		*ret_count = 0;
		*ret_reason = "its code can't be read from the file";
		return 0;
	}
	if (result)
		return result;
	references_need(code, &function);
	return function_code_returns(code->decoder, &function, ret_sites, ret_count, ret_reason);
}
