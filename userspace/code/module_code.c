/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code/module_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "code/code_cache.h"
#include "code/cold_parts.h"
#include "code/nameless_parts.h"
#include "base/array.h"
#include "base/cleanup.h"

#define FUNCTION_MAX_BYTES     (16ULL << 20)
#define UNKNOWN_SIZE_MAX_BYTES 32
#define PARTS_MAX	       16
#define WINDOW_BYTES	       4096
#define SMALL_READ_BYTES       64

struct module_code {
	int fd, cache_folder_fd;
	struct elf_file *file;
	struct elf_window *window;
	struct elf_symbols symbols;
	struct decoder *decoder;
	struct cold_parts *cold;
	struct nameless_parts *nameless;
	struct code_span *expected; /* parts of functions */
	size_t expected_count, expected_capacity;
	bool scanned, scanned_all;
	struct code_references *references;	/* NULL: not known */
	struct code_sources questions, sources; /* not answered yet; and answered */
	bool answered;
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
	code->fd = fd;
	code->cache_folder_fd = -1;
	result = elf_file_open(fd, path, &code->file, err);
	if (!result)
		code->window = elf_window_create(code->file, WINDOW_BYTES);
	if (!result && !code->window)
		result = err_errno(err, -ENOMEM, "can't read %s", path);
	if (!result)
		result = elf_symbols_load(code->file, root_path, &code->symbols, err);
	if (!result)
		result = decoder_create(&code->decoder, err);
	if (!result && cold_parts_create(&code->symbols, &code->cold))
		result = err_errno(err, -ENOMEM, "can't read the symbols of %s", path);
	if (!result)
		code->nameless = nameless_parts_create(code->file, &code->symbols);
	if (!result && !code->nameless)
		result = err_errno(err, -ENOMEM, "can't read %s", path);
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
	code_sources_free(&code->questions);
	code_sources_free(&code->sources);
	free(code->expected);
	free(code->window);
	decoder_free(code->decoder);
	cold_parts_free(code->cold);
	nameless_parts_free(code->nameless);
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

	return size > SMALL_READ_BYTES ? elf_file_read_address(code->file, address, ret_bytes, size)
				       : elf_window_read(code->window, address, ret_bytes, size);
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

static enum function_frame frame(const void *data, u64 address)
{
	const struct module_code *code = data;

	return nameless_parts_frame(code->nameless, address);
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

/* Without what refers to it: see references_need(). */
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
		.is_function = is_function,
		.frame = frame,
		.read = read_address,
		.data = code,
	};
	return result == -ENOENT ? 0 : result;
}

static void references_use(struct module_code *code, struct function_code *function)
{
	function->references = code->references;
	function->sources = code->answered && code->references ? &code->sources : NULL;
	function->questions = &code->questions;
}

/* A function that gets parts. */
struct growing {
	struct module_code *code;
	struct function_code *function;
};

/* -ENOENT: it can't be read, or is one too many. A jump there leaves the function's exits unknown, and so do exceptions. */
static int part_add(void *data, u64 address, u64 size_bytes)
{
	const struct growing *growing = data;
	struct module_code *code = growing->code;
	int result = range_read(code, address, size_bytes, false);

	if (result)
		return result;
	code->ranges[code->range_count - 1].nameless = true;
	growing->function->range_count = code->range_count;
	return 0;
}

/* With all that is known to be a part of it, as those ask who want to know where it is left. */
static int function_read_whole(struct module_code *code, u64 address,
			       struct function_code *ret_function)
{
	struct growing growing = {.code = code};
	int result = function_read(code, address, ret_function);

	if (result || ret_function->size_unknown)
		return result;
	growing.function = ret_function;
	references_use(code, ret_function);
	result = nameless_parts_find(code->nameless, code->decoder, ret_function, part_add,
				     &growing, &ret_function->pads_unknown);
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

static int expect(void *data, u64 address, u64 size_bytes)
{
	struct module_code *code = data;

	if (array_reserve(&code->expected, &code->expected_capacity, code->expected_count + 1))
		return -ENOMEM;
	code->expected[code->expected_count++] =
		(struct code_span){address, address + size_bytes - 1};
	return 0;
}

int module_code_expect(struct module_code *code, u64 address)
{
	struct function_code function;
	int result = 0;

	if (function_read(code, address, &function))
		return 0;
	for (size_t r = 0; r < function.range_count && !result; r++)
		result = expect(code, function.ranges[r].address, function.ranges[r].size_bytes);
	return result ? result : nameless_parts_guess(code->nameless, &function, expect, code);
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

static bool is_known(const struct module_code *code, const struct function_code *function)
{
	return code->scanned_all ||
	       (code->scanned && (!code->references || are_all_kept(code, function)));
}

static void scan(struct module_code *code, const struct function_code *function)
{
	bool all = code->scanned || !are_all_expected(code, function);

	code->scanned = true;
	code->scanned_all = all;
	code_references_free(code->references);
	(void)code_cache_scan(code->cache_folder_fd, code->fd, code->file, &code->symbols,
			      all ? NULL : code->expected, code->expected_count, &code->references,
			      NULL);
}

/* Of a function that was read. What could not be gone through is not known: no placement. */
static void references_need(struct module_code *code, struct function_code *function)
{
	if (!is_known(code, function))
		scan(code, function);
	references_use(code, function);
}

static const char unreadable[] = "its first instruction can't be read from the file";

const char *module_code_place_quickly(struct module_code *code, u64 address,
				      struct function_place *ret_place)
{
	struct function_code function;

	if (function_read(code, address, &function))
		return unreadable;
	return function_code_place(code->decoder, &function, 0, ret_place);
}

const char *module_code_place(struct module_code *code, u64 address, unsigned allowed,
			      struct function_place *ret_place)
{
	struct function_code function;
	const char *refused;

	if (function_read(code, address, &function))
		return unreadable;
	/* Most are good as they are; what refers to where, which takes long to find out, they need not know. */
	refused = function_code_place(code->decoder, &function, allowed & PLACE_NO_LONG_NOP,
				      ret_place);
	if (refused || ret_place->cost == COST_CHEAP)
		return refused;
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
	int result = function_read_whole(code, address, &function);

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

size_t module_code_questions(const struct module_code *code)
{
	return code->questions.asked_count;
}

int module_code_answer(struct module_code *code)
{
	const struct elf_pieces *pieces = nameless_parts_pieces(code->nameless);
	int result = pieces ? 0 : -ENOENT;

	for (size_t i = 0; i < code->questions.asked_count && !result; i++)
		result = code_sources_ask(&code->sources, code->questions.asked[i]);
	code_sources_free(&code->questions);
	if (!result)
		result = code_sources_find(&code->sources, code->file, &code->symbols, pieces,
					   code->decoder);
	code->answered = !result;
	return result;
}
