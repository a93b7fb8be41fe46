/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which parts belong to which functions. */
#include <string.h>

#include "code/cold_parts.h"
#include "unit.h"

static struct elf_symbol items[] = {
	{.name = "f.cold", .address = 1},   {.name = "g.cold.3", .address = 2},
	{.name = "f", .address = 3},	    {.name = "g", .address = 4},
	{.name = "g.cold", .address = 5},   {.name = "g", .address = 6},
	{.name = "f.colder", .address = 7}, {.name = "f.isra.0.cold", .address = 8},
	{.name = "ff.cold", .address = 9},  {.name = "f.isra.0", .address = 10},
	{.name = "g", .address = 11},
};
static const struct elf_symbols symbols = {.items = items, .count = ARRAY_SIZE(items)};

/* Of a function: how many parts, how many of the same name, and the sum of the parts' addresses. */
static void check_parts(const char *name, size_t count, unsigned functions, u64 addresses)
{
	const struct elf_symbol *const *found;
	struct cold_parts *parts = NULL;
	unsigned found_functions = 0;
	u64 sum = 0;

	CHECK_U64(cold_parts_create(&symbols, &parts), 0);
	CHECK_U64(cold_parts_find(parts, name, &found, &found_functions), count);
	for (size_t i = 0; i < count; i++)
		sum += found[i]->address;
	CHECK_U64(sum, addresses);
	CHECK_U64(found_functions, functions);
	cold_parts_free(parts);
}

TEST(parts_belong_to_the_function_that_they_are_named_after)
{
	check_parts("f", 1, 1, 1);
	check_parts("f.isra.0", 1, 1, 8);
	check_parts("ff", 1, 0, 9);
	check_parts("h", 0, 0, 0);
	check_parts("", 0, 0, 0);
}

TEST(functions_of_one_name_are_counted)
{
	check_parts("g", 2, 2, 7);
}

TEST(names_of_parts)
{
	CHECK(cold_part_is_name("f.cold"));
	CHECK(cold_part_is_name("f.cold.12"));
	CHECK(cold_part_is_name("f.part.0.cold"));
	CHECK(!cold_part_is_name("f"));
	CHECK(!cold_part_is_name("f.colder"));
	CHECK(!cold_part_is_name("cold"));
	CHECK(!cold_part_is_name(".cold"));
}

TEST(a_file_without_symbols_has_none)
{
	struct elf_symbols none = {0};
	const struct elf_symbol *const *found;
	struct cold_parts *parts = NULL;
	unsigned functions;

	CHECK_U64(cold_parts_create(&none, &parts), 0);
	CHECK_U64(cold_parts_find(parts, "f", &found, &functions), 0);
	cold_parts_free(parts);
}

UNIT_MAIN()
