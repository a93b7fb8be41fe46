/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code/cold_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

/* gcc's; those of BOLT, which parts what is seldom done from what is never done; clang's (-fbasic-block-sections). */
static const char *const kinds[] = {"cold", "warm", "__part"};

/* All functions of one name. */
struct owner {
	size_t first_part; /* among the parts */
	u32 part_count;
	u32 function_count; /* up to two */
};

struct cold_parts {
	struct string_table names; /* of owners: their numbers */
	struct owner *owners;
	const struct elf_symbol **parts; /* by owner */
};

/* The length of the kind that stands there, up to the end or a number; 0: none does. */
static size_t kind_length(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		size_t length = strlen(kinds[i]);

		if (strncmp(name, kinds[i], length) == 0 &&
		    (name[length] == 0 || name[length] == '.'))
			return length;
	}
	return 0;
}

/* Where the owner's name ends; 0: it is no part. */
static size_t owner_length(const char *name)
{
	for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.'))
		if (kind_length(dot + 1))
			return (size_t)(dot - name);
	return 0;
}

bool cold_part_is_name(const char *name)
{
	return owner_length(name) > 0;
}

/* Numbers the owners; *ret_owners: for each symbol that is a part its owner's number, in order. */
static int parts_number(struct cold_parts *parts, const struct elf_symbols *symbols,
			size_t part_count, size_t *ret_owners)
{
	size_t done = 0;

	for (size_t i = 0; i < symbols->count && done < part_count; i++) {
		const char *name = symbols->items[i].name;
		size_t length = owner_length(name);
		s64 number;

		if (!length)
			continue;
		number = string_table_add(&parts->names, name, length);
		if (number < 0)
			return -ENOMEM;
		ret_owners[done++] = (size_t)number;
	}
	return 0;
}

static void parts_fill(struct cold_parts *parts, const struct elf_symbols *symbols,
		       size_t part_count, const size_t *owners)
{
	size_t first = 0, done = 0;

	for (size_t i = 0; i < part_count; i++)
		parts->owners[owners[i]].part_count++;
	for (size_t o = 0; o < parts->names.count; o++) {
		parts->owners[o].first_part = first;
		first += parts->owners[o].part_count;
		parts->owners[o].part_count = 0;
	}
	for (size_t i = 0; i < symbols->count && done < part_count; i++) {
		struct owner *owner;

		if (!owner_length(symbols->items[i].name))
			continue;
		owner = &parts->owners[owners[done++]];
		parts->parts[owner->first_part + owner->part_count++] = &symbols->items[i];
	}
}

static void functions_count(struct cold_parts *parts, const struct elf_symbols *symbols)
{
	for (size_t i = 0; i < symbols->count; i++) {
		const char *name = symbols->items[i].name;
		s64 number = string_table_find(&parts->names, name, strlen(name));

		if (number >= 0 && parts->owners[number].function_count < 2)
			parts->owners[number].function_count++;
	}
}

static int parts_read(struct cold_parts *parts, const struct elf_symbols *symbols,
		      size_t part_count)
{
	size_t *owners = calloc(part_count, sizeof(*owners));
	int result = owners ? parts_number(parts, symbols, part_count, owners) : -ENOMEM;

	if (!result) {
		parts->owners = calloc(parts->names.count, sizeof(*parts->owners));
		parts->parts = calloc(part_count, sizeof(*parts->parts));
		if (!parts->owners || !parts->parts)
			result = -ENOMEM;
	}
	if (!result) {
		parts_fill(parts, symbols, part_count, owners);
		functions_count(parts, symbols);
	}
	free(owners);
	return result;
}

int cold_parts_create(const struct elf_symbols *symbols, struct cold_parts **ret_parts)
{
	struct cold_parts *parts = calloc(1, sizeof(*parts));
	size_t count = 0;
	int result;

	if (!parts)
		return -ENOMEM;
	for (size_t i = 0; i < symbols->count; i++)
		count += cold_part_is_name(symbols->items[i].name);
	result = count ? parts_read(parts, symbols, count) : 0;
	if (result)
		cold_parts_free(parts);
	else
		*ret_parts = parts;
	return result;
}

struct cold_parts *cold_parts_free(struct cold_parts *parts)
{
	if (!parts)
		return NULL;
	string_table_free(&parts->names);
	free(parts->owners);
	free(parts->parts);
	free(parts);
	return NULL;
}

size_t cold_parts_find(const struct cold_parts *parts, const char *name,
		       const struct elf_symbol *const **ret_parts, unsigned *ret_functions)
{
	const struct owner *owner;
	s64 number = string_table_find(&parts->names, name, strlen(name));

	if (number < 0)
		return 0;
	owner = &parts->owners[number];
	*ret_parts = parts->parts + owner->first_part;
	*ret_functions = owner->function_count;
	return owner->part_count;
}
