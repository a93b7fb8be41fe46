/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/function_names.h"

#include <string.h>

#include "base/demangle.h"

/* Symbols without a size, in assembler, are believed for so long: what comes behind may have lost its symbol. */
#define SIZELESS_MAX_BYTES 4096
/* Symbols inside of others, whose ends are looked at too. */
#define NESTED_MAX 64

static bool covers(const struct elf_symbols *symbols, size_t index, u64 address)
{
	const struct elf_symbol *symbol = &symbols->items[index];

	if (symbol->size_bytes)
		return address - symbol->address < symbol->size_bytes;
	while (index + 1 < symbols->count && symbols->items[index + 1].address == symbol->address)
		index++;
	/* Behind the last one nothing says where it ends. */
	return index + 1 < symbols->count && address < symbols->items[index + 1].address &&
	       address - symbol->address < SIZELESS_MAX_BYTES;
}

/* As the names of probes are chosen: a global one, without a leading underscore, the shortest. */
static bool is_better(const struct elf_symbol *a, const struct elf_symbol *b)
{
	size_t a_length, b_length;

	if ((a->size_bytes != 0) != (b->size_bytes != 0))
		return a->size_bytes != 0;
	if (a->global != b->global)
		return a->global;
	if ((a->name[0] == '_') != (b->name[0] == '_'))
		return a->name[0] != '_';
	a_length = strlen(a->name);
	b_length = strlen(b->name);
	return a_length != b_length ? a_length < b_length : strcmp(a->name, b->name) < 0;
}

const struct elf_symbol *function_names_find(const struct elf_symbols *symbols, u64 address)
{
	const struct elf_symbol *best = NULL;

	for (size_t i = elf_symbols_up_to(symbols, address), looked = 0;
	     i > 0 && looked < NESTED_MAX; i--, looked++) {
		const struct elf_symbol *symbol = &symbols->items[i - 1];

		/* The innermost one that covers it, and its aliases. */
		if (best && symbol->address != best->address)
			break;
		if (covers(symbols, i - 1, address) && (!best || is_better(symbol, best)))
			best = symbol;
	}
	return best;
}

void function_names_append(const char *symbol, struct text *ret_name)
{
	if (demangle(symbol, DEMANGLE_NAME, ret_name))
		return;
	text_clear(ret_name);
	text_append(ret_name, symbol);
}

bool function_names_begins(const char *symbol)
{
	static const char *const beginnings[] = {
#define BEGINNING(symbol, of) symbol,
#include "resolve/beginnings.def"
	};

	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
		if (strcmp(beginnings[i], symbol) == 0)
			return true;
	return false;
}
