/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nsight/nsys_numbers.h"

#include <string.h>

#include "base/array.h"
#include "../bpf/record.h"

/* clang-format off */
#define ENUM_TABLE(id, name) static const char enum_table_##id[] = name;
#include "nsight/nsys_enums.def"

#define ENUM_ROW(id, number, name, label) {enum_table_##id, number, name, label},
static const struct nsys_enum_row enum_rows[] = {
#include "nsight/nsys_enums.def"
};

#define ENUM_MAP(enum, tag, number) {#enum, VALUE_##enum##_##tag, number},
static const struct enum_map {
	const char *enum_name;
	u32 ours;
	s64 theirs;
} enum_maps[] = {
#include "nsight/nsys_enums.def"
};
/* clang-format on */

const struct nsys_enum_row *nsys_enum_rows(size_t *ret_count)
{
	*ret_count = ARRAY_SIZE(enum_rows);
	return enum_rows;
}

s64 nsys_enum_number(const char *enum_name, u32 number)
{
	for (size_t i = 0; i < ARRAY_SIZE(enum_maps); i++)
		if (enum_maps[i].ours == number && !strcmp(enum_maps[i].enum_name, enum_name))
			return enum_maps[i].theirs;
	return NSYS_NONE;
}

u32 nsys_enum_value(const char *enum_name, s64 number)
{
	for (size_t i = 0; i < ARRAY_SIZE(enum_maps); i++)
		if (enum_maps[i].theirs == number && !strcmp(enum_maps[i].enum_name, enum_name))
			return enum_maps[i].ours;
	return 0;
}
