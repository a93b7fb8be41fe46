/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/source_lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "resolve/addresses.h"

#define TREE_DEPTH_MAX 256

/* The functions at one address: those that were inlined, the outermost first. */
struct place {
	Dwarf_Die chain[SOURCE_LEVELS_MAX];
	size_t depth;
};

struct unit {
	const u64 *addresses; /* those that lie in it, sorted */
	size_t count;
	struct place *places;
};

/* ---- one tree of functions ---- */

/* A function begins a chain, what is inlined goes on with it, a block changes none. Several names of one function, as
 * assemblers write them, are no chain: the first one counts. */
static bool belongs(const struct place *place, int tag)
{
	return tag != DW_TAG_subprogram || !place->depth;
}

/* Notes the function at each address that it covers; true when it covers any. */
static bool function_note(struct unit *unit, Dwarf_Die *die, int tag)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;
	bool any = false;

	while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
		for (size_t i = addresses_from(unit->addresses, unit->count, start);
		     i < unit->count && unit->addresses[i] < end; i++) {
			struct place *place = &unit->places[i];

			if (!belongs(place, tag))
				continue;
			any = true;
			if (tag != DW_TAG_lexical_block && place->depth < SOURCE_LEVELS_MAX)
				place->chain[place->depth++] = *die;
		}
	}
	return any;
}

static void tree_walk(struct unit *unit, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;

	if (depth == TREE_DEPTH_MAX || dwarf_child(parent, &die))
		return;
	do {
		int tag = dwarf_tag(&die);

		switch (tag) {
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
		case DW_TAG_lexical_block:
			if (function_note(unit, &die, tag))
				tree_walk(unit, &die, depth + 1);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
			tree_walk(unit, &die, depth + 1);
			break;
		}
	} while (!dwarf_siblingof(&die, &die));
}

/* ---- names and lines ---- */

static const char *symbol_of(Dwarf_Die *die)
{
	static const unsigned attributes[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name,
					      DW_AT_name};

	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++) {
		Dwarf_Attribute attribute;
		const char *name =
			dwarf_formstring(dwarf_attr_integrate(die, attributes[i], &attribute));

		if (name && *name)
			return name;
	}
	return NULL;
}

static u32 number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) || value > UINT32_MAX)
		return 0;
	return value;
}

/* Where what is inlined was called. */
static void call_site(Dwarf_Die *unit, Dwarf_Die *inlined, struct source_level *level)
{
	u32 file = number_of(inlined, DW_AT_call_file);
	Dwarf_Files *files;
	size_t count;

	level->line = number_of(inlined, DW_AT_call_line);
	if (!dwarf_getsrcfiles(unit, &files, &count) && file < count)
		level->file = dwarf_filesrc(files, file, NULL, NULL);
}

static void line_at(Dwarf_Die *unit, u64 address, struct source_level *level)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);
	int number;

	if (!line || dwarf_lineno(line, &number) || number < 0)
		return;
	level->line = (u32)number;
	level->file = dwarf_linesrc(line, NULL, NULL);
}

static size_t levels_fill(Dwarf_Die *unit, u64 address, struct place *place,
			  struct source_level levels[SOURCE_LEVELS_MAX])
{
	size_t count = 0;

	memset(levels, 0, SOURCE_LEVELS_MAX * sizeof(*levels));
	line_at(unit, address, &levels[0]);
	for (size_t i = place->depth; i > 0; i--) {
		levels[count].symbol = symbol_of(&place->chain[i - 1]);
		if (++count < place->depth)
			call_site(unit, &place->chain[i - 1], &levels[count]);
	}
	return count || !levels[0].line ? count : 1;
}

/* ---- units ---- */

struct range {
	u64 start, end;
	Dwarf_Off unit;
};

struct ranges {
	struct range *items;
	size_t count, capacity;
};

static int ranges_add(struct ranges *ranges, Dwarf_Die *unit)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;

	while ((offset = dwarf_ranges(unit, offset, &base, &start, &end)) > 0) {
		if (start >= end)
			continue;
		if (array_reserve(&ranges->items, &ranges->capacity, ranges->count + 1))
			return -ENOMEM;
		ranges->items[ranges->count++] = (struct range){start, end, dwarf_dieoffset(unit)};
	}
	return 0;
}

/* Not by .debug_aranges, which clang leaves out. */
static int ranges_read(Dwarf *dwarf, struct ranges *ranges)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	u8 type;
	int result = 0;

	while (!result && dwarf_get_units(dwarf, unit, &unit, NULL, &type, &die, NULL) == 0)
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			result = ranges_add(ranges, &die);
	return result;
}

struct address_unit {
	u64 address;
	size_t index; /* of the caller */
	Dwarf_Off unit;
};

static int compare_units(const void *a, const void *b)
{
	const struct address_unit *left = a, *right = b;

	if (left->unit != right->unit)
		return left->unit < right->unit ? -1 : 1;
	return (left->address > right->address) - (left->address < right->address);
}

struct search {
	Dwarf *dwarf;
	struct address_unit *addresses;
	size_t count;
	void (*found)(void *data, size_t index, const struct source_level *levels,
		      size_t level_count);
	void *data;
};

static void addresses_assign(struct search *search, const u64 *addresses, size_t count,
			     const struct ranges *ranges, bool *taken)
{
	for (size_t r = 0; r < ranges->count; r++) {
		const struct range *range = &ranges->items[r];

		for (size_t i = addresses_from(addresses, count, range->start);
		     i < count && addresses[i] < range->end; i++) {
			if (taken[i])
				continue;
			taken[i] = true;
			search->addresses[search->count++] =
				(struct address_unit){addresses[i], i, range->unit};
		}
	}
	qsort(search->addresses, search->count, sizeof(*search->addresses), compare_units);
}

static int unit_search(struct search *search, const struct address_unit *items, size_t count)
{
	_cleanup_free_ u64 *addresses = calloc(count, sizeof(*addresses));
	_cleanup_free_ struct place *places = calloc(count, sizeof(*places));
	struct source_level levels[SOURCE_LEVELS_MAX];
	struct unit unit = {addresses, count, places};
	Dwarf_Die die, split;

	if (!addresses || !places)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		addresses[i] = items[i].address;
	if (!dwarf_offdie(search->dwarf, items[0].unit, &die))
		return 0;
	/* The functions of -gsplit-dwarf stand in another file, the lines here. */
	if (!dwarf_cu_info(die.cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) && split.addr)
		tree_walk(&unit, &split, 0);
	else
		tree_walk(&unit, &die, 0);
	for (size_t i = 0; i < count; i++) {
		size_t level_count = levels_fill(&die, addresses[i], &places[i], levels);

		if (level_count)
			search->found(search->data, items[i].index, levels, level_count);
	}
	return 0;
}

#define UNIT_ADDRESSES_MAX 256 /* looked for at a time: a place takes 2 kB */

static int units_search(struct search *search)
{
	int result = 0;

	for (size_t i = 0; i < search->count && !result;) {
		size_t end = i + 1;

		while (end < search->count && end - i < UNIT_ADDRESSES_MAX &&
		       search->addresses[end].unit == search->addresses[i].unit)
			end++;
		result = unit_search(search, &search->addresses[i], end - i);
		i = end;
	}
	return result;
}

int source_lines_find(int fd, const u64 *addresses, size_t count,
		      void (*found)(void *data, size_t index, const struct source_level *levels,
				    size_t level_count),
		      void *data)
{
	_cleanup_free_ struct address_unit *assigned = calloc(count + 1, sizeof(*assigned));
	_cleanup_free_ bool *taken = calloc(count + 1, sizeof(*taken));
	struct search search = {.addresses = assigned, .found = found, .data = data};
	struct ranges ranges = {0};
	int result;

	if (!assigned || !taken)
		return -ENOMEM;
	search.dwarf = dwarf_begin(fd, DWARF_C_READ);
	if (!search.dwarf)
		return -EINVAL;
	result = ranges_read(search.dwarf, &ranges);
	if (!result) {
		addresses_assign(&search, addresses, count, &ranges, taken);
		result = units_search(&search);
	}
	free(ranges.items);
	dwarf_end(search.dwarf);
	return result;
}
