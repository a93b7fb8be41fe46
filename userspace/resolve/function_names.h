/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which function of a file an address lies in, by its symbols. */
#ifndef GPUPROBE_RESOLVE_FUNCTION_NAMES_H
#define GPUPROBE_RESOLVE_FUNCTION_NAMES_H

#include "base/text.h"
#include "elf/elf_file.h"

/* The symbol that covers the address, of several the one that people know it by; NULL: none does. */
const struct elf_symbol *function_names_find(const struct elf_symbols *symbols, u64 address);
/* The name for people: demangled, without parameters. Replaces what is in ret_name. */
void function_names_append(const char *symbol, struct text *ret_name);
/* Do threads or processes begin in this function (symbol as in the file), so that no caller is missing? */
bool function_names_begins(const char *symbol);

#endif
