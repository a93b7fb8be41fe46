/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/heap_functions.h"

#include <string.h>

enum prefix {
	PLAIN = 1,
	JE = 2,
	TC = 4,
	MI = 8,
	LIBC = 16,
	STANDARD = PLAIN | JE | TC | MI | LIBC,
};

static const struct {
	enum prefix prefix;
	const char *text;
} prefixes[] = {{JE, "je_"}, {TC, "tc_"}, {MI, "mi_"}, {LIBC, "__libc_"}, {PLAIN, ""}};

static const struct {
	unsigned prefixes;
	const char *name;
	struct allocator allocator;
} rows[] = {
#define HEAP_FUNCTION(prefixes, name, ...) {prefixes, #name, {__VA_ARGS__}},
#include "plan/heap_functions.def"
#undef HEAP_FUNCTION
};

const struct allocator *heap_function_find(const char *name)
{
	size_t i = 0, length;

	while ((length = strlen(prefixes[i].text)) && strncmp(name, prefixes[i].text, length))
		i++;
	for (size_t row = 0; row < ARRAY_SIZE(rows); row++)
		if (rows[row].prefixes & prefixes[i].prefix &&
		    !strcmp(rows[row].name, name + length))
			return &rows[row].allocator;
	return NULL;
}

bool heap_function_is_operator(const char *name)
{
	return !strncmp(name, "_Zn", 3) || !strncmp(name, "_Zd", 3);
}
