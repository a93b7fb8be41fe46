#include "attach/matmuls.h"

#include <string.h>

#include "../bpf/record.h"

#define VALUE_data_type_unknown 0

static const struct {
	const char *name;
	struct matmul_arguments arguments;
} rows[] = {
#define MATMUL(function, a, b, c, ...)                                                            \
	{#function,                                                                               \
	 {.type = {VALUE_data_type_##a, VALUE_data_type_##b, VALUE_data_type_##c}, __VA_ARGS__}}, \
		{#function "_64",                                                                 \
		 {.type = {VALUE_data_type_##a, VALUE_data_type_##b, VALUE_data_type_##c},        \
		  .is_wide = 1,                                                                   \
		  __VA_ARGS__}},
#include "attach/matmuls.def"
#undef MATMUL
};

const struct matmul_arguments *matmul_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i].arguments;
	return NULL;
}
