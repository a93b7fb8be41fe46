/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/allocators.h"

#include <string.h>

#include "../bpf/record.h"

#define VALUE_memory_kind_unknown 0

static const struct {
	const char *name;
	struct allocator allocator;
} rows[] = {
#define ALLOCATOR(function, kind, ...) \
	{#function, {.memory = VALUE_memory_kind_##kind, __VA_ARGS__}},
#include "plan/allocators.def"
#undef ALLOCATOR
};

const struct allocator *allocator_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i].allocator;
	return NULL;
}
