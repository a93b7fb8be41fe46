/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which functions have parts that lie elsewhere, by the names of these: NAME.cold and NAME.cold.3 are of NAME, and so are NAME.warm and NAME.__part.1. */
#ifndef GPUPROBE_CODE_COLD_PARTS_H
#define GPUPROBE_CODE_COLD_PARTS_H

#include "elf/elf_file.h"

struct cold_parts;

/* Of all symbols of a file, which must live on; 0 or -ENOMEM. */
int cold_parts_create(const struct elf_symbols *symbols, struct cold_parts **ret_parts);
struct cold_parts *cold_parts_free(struct cold_parts *parts); /* NULL allowed; returns NULL */

/* The parts of the functions with this name, theirs; ret_functions: how many such functions there are, up to
 * two. Returns the number of parts; when it is 0, nothing else is set. */
size_t cold_parts_find(const struct cold_parts *parts, const char *name,
		       const struct elf_symbol *const **ret_parts, unsigned *ret_functions);

/* Is it the name of one? */
bool cold_part_is_name(const char *name);

#endif
