/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/matmuls.h"

#include <string.h>

#include "code/instruction.h"
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
#define MATMUL_BY_OBJECTS(function, ...) {#function, {__VA_ARGS__}},
#include "plan/matmuls.def"
#undef MATMUL_BY_OBJECTS
#undef MATMUL
};

const struct matmul_arguments *matmul_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i].arguments;
	return NULL;
}

#define NUMBERS 12

/* Of the arguments that are read; 0: none. */
static void matmul_numbers(const struct matmul_arguments *arguments, u8 ret_numbers[static NUMBERS])
{
	const u8 numbers[NUMBERS] = {
		arguments->m,	       arguments->n,	      arguments->k,
		arguments->batch,      arguments->transposed, arguments->type_at[0],
		arguments->type_at[1], arguments->type_at[2], arguments->operation,
		arguments->layout_a,   arguments->layout_b,   arguments->layout_d};

	memcpy(ret_numbers, numbers, sizeof(numbers));
}

u8 matmul_stack_arguments(const struct matmul_arguments *arguments)
{
	u8 numbers[NUMBERS], last = MATMUL_REGISTER_ARGUMENTS;

	matmul_numbers(arguments, numbers);
	for (size_t i = 0; i < NUMBERS; i++)
		last = numbers[i] > last ? numbers[i] : last;
	return last - MATMUL_REGISTER_ARGUMENTS;
}

u32 matmul_registers(const struct matmul_arguments *arguments)
{
	u32 registers = 0;
	u8 numbers[NUMBERS];

	matmul_numbers(arguments, numbers);
	for (size_t i = 0; i < NUMBERS; i++)
		registers |= instruction_argument_register(numbers[i]);
	return registers;
}
