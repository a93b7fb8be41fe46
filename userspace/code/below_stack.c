/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code/below_stack.h"

#include <stdlib.h>

#include "base/cleanup.h"

/* Larger ones are not looked at. */
#define FUNCTION_MAX_BYTES (1U << 20)

/* The symbol with the nearest start whose extent has the address; NULL: none. */
static const struct elf_symbol *symbol_around(const struct elf_symbols *symbols, u64 address)
{
	size_t low = elf_symbols_up_to(symbols, address);

	for (; low > 0; low--) {
		const struct elf_symbol *symbol = &symbols->items[low - 1];

		if (symbol->size_bytes)
			return address - symbol->address < symbol->size_bytes ? symbol : NULL;
	}
	return NULL;
}

bool function_may_keep_below_stack(const struct elf_file *file, const struct elf_symbols *symbols,
				   struct decoder *decoder, u64 address)
{
	const struct elf_symbol *symbol = symbol_around(symbols, address);
	bool calls = false, below_frame = false;
	_cleanup_free_ u8 *code = NULL;
	size_t size, at = 0;

	if (!symbol || symbol->size_bytes > FUNCTION_MAX_BYTES)
		return true;
	code = malloc(symbol->size_bytes);
	size = code ? elf_file_read_address(file, symbol->address, code, symbol->size_bytes) : 0;
	if (size != symbol->size_bytes)
		return true;
	while (at < size) {
		struct instruction instruction;

		if (!decoder_read(decoder, code + at, size - at, symbol->address + at,
				  &instruction) ||
		    instruction.uses_below_stack)
			return true;
		calls |= instruction.flow == FLOW_CALL;
		below_frame |= instruction.uses_below_frame;
		at += instruction.size_bytes;
	}
	/* With a frame pointer it may lie below sp too, unless a call would write there. */
	return below_frame && !calls;
}
