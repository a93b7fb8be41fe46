/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of functions that multiply matrices: each has its sizes where cuBLAS' headers declare them. */
#include "unit.h"

#include "code/instruction.h"
#include "plan/matmuls.h"
#include "plan/plan.h"
#include "../bpf/record.h"

static const struct matmul_arguments *row_of(const char *name)
{
	static const struct matmul_arguments none;
	const struct matmul_arguments *row = matmul_find(name);

	if (!row)
		UNIT_FAIL("no row for %s", name);
	return row ? row : &none;
}

static const char *const names[] = {
#define MATMUL(name, a, b, c, ...) #name,
#define MATMUL_BY_OBJECTS(name, ...)
#include "plan/matmuls.def"
#undef MATMUL_BY_OBJECTS
#undef MATMUL
};

TEST(a_function_that_is_none_of_them_has_no_row)
{
	CHECK(!matmul_find("cublasSgemm_v"));
	CHECK(!matmul_find("cublasSgemm_v2_6"));
	CHECK(!matmul_find("cublasSgemmGroupedBatched"));
	CHECK(!matmul_find("cublasLtMatmul_64"));
	CHECK(!matmul_find("_64"));
	CHECK(!matmul_find(""));
}

TEST(each_row_stands_once_and_for_64_bits_too)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct matmul_arguments row = *row_of(names[i]), wide;
		char name[128];

		snprintf(name, sizeof(name), "%s_64", names[i]);
		wide = *row_of(name);
		CHECK_U64(row.is_wide, 0);
		CHECK_U64(wide.is_wide, 1);
		wide.is_wide = 0;
		CHECK(memcmp(&row, &wide, sizeof(row)) == 0);
		for (size_t j = 0; j < i; j++)
			CHECK(strcmp(names[i], names[j]));
	}
}

/* What programs may read. */
TEST(arguments_are_within_bounds)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct matmul_arguments *row = row_of(names[i]);

		CHECK(row->m && row->m <= MATMUL_ARGUMENTS_MAX);
		CHECK(row->k && row->k <= MATMUL_ARGUMENTS_MAX);
		CHECK(row->n <= MATMUL_ARGUMENTS_MAX);
		CHECK(row->batch <= MATMUL_ARGUMENTS_MAX);
		CHECK(row->transposed <= MATMUL_ARGUMENTS_MAX);
		for (size_t j = 0; j < 3; j++) {
			CHECK(row->type_at[j] <= MATMUL_ARGUMENTS_MAX);
			CHECK(row->type[j] <= VALUE_data_type_f4_e2m1);
			/* One of the two says it. */
			CHECK(!row->type_at[j] != !row->type[j]);
		}
	}
}

TEST(the_name_tells_the_same_as_the_row)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct matmul_arguments *row = row_of(names[i]);
		bool is_ex = strstr(names[i], "Ex"), is_gemv = strstr(names[i], "gemv");

		CHECK_U64(!row->batch, !strstr(names[i], "Batched"));
		CHECK_U64(!row->type_at[0], !is_ex);
		CHECK_U64(!row->n, is_gemv);
		CHECK_U64(row->transposed, is_gemv ? 2 : 0);
		if (strstr(names[i], "cublasD") == names[i])
			CHECK_U64(row->type[0], VALUE_data_type_f64);
		if (strstr(names[i], "cublasZ") == names[i])
			CHECK_U64(row->type[0], VALUE_data_type_complex_f64);
	}
}

/* cublasLtMatmul(handle, operation, alpha, A, layout, B, layout, beta, C, layout, D, layout, ...) */
TEST(sizes_in_objects)
{
	const struct matmul_arguments *row = row_of("cublasLtMatmul");
	const u32 rsi = 1 << 6, r8 = 1 << 8;

	CHECK_U64(row->operation, 2);
	CHECK_U64(row->layout_a, 5);
	CHECK_U64(row->layout_b, 7);
	CHECK_U64(row->layout_d, 12);
	CHECK(!row->m && !row->n && !row->k && !row->batch);
	CHECK_U64(matmul_stack_arguments(row), 6);
	CHECK_U64(matmul_registers(row), rsi | r8);
}

/* By docs/formats/cublaslt.md. */
TEST(the_objects_have_in_memory_what_was_seen)
{
	CHECK_U64(offsetof(struct cublaslt_operation, compute_type), 8);
	CHECK_U64(offsetof(struct cublaslt_operation, transform_a), 20);
	CHECK_U64(offsetof(struct cublaslt_operation, transform_b), 24);
	CHECK_U64(offsetof(struct cublaslt_layout, type), 0);
	CHECK_U64(offsetof(struct cublaslt_layout, rows), 8);
	CHECK_U64(offsetof(struct cublaslt_layout, columns), 16);
	CHECK_U64(offsetof(struct cublaslt_layout, batch), 32);
	CHECK_U64(offsetof(struct cublaslt_layout, batch_mode), 36);
	/* The smallest object that any version takes. */
	CHECK(sizeof(struct cublaslt_operation) <= 56);
	CHECK(sizeof(struct cublaslt_layout) <= 56);
}

TEST(arguments_on_the_stack)
{
	CHECK_U64(matmul_stack_arguments(row_of("cublasSgemm_v2")), 0);
	CHECK_U64(matmul_stack_arguments(row_of("cublasGemmEx")), 10);
	CHECK_U64(matmul_stack_arguments(row_of("cublasGemmStridedBatchedEx")), 15);
	CHECK_U64(matmul_stack_arguments(row_of("cublasSgemvBatched_64")), 7);
}

TEST(registers_that_have_sizes)
{
	const u32 rcx = 1 << 1, rdx = 1 << 2, rsi = 1 << 6, r8 = 1 << 8, r9 = 1 << 9;

	CHECK_U64(matmul_registers(row_of("cublasSgemm_v2")), rcx | r8 | r9);
	CHECK_U64(matmul_registers(row_of("cublasGemmStridedBatchedEx_64")), rcx | r8 | r9);
	CHECK_U64(matmul_registers(row_of("cublasSgemv_v2")), rsi | rdx | rcx);
}

TEST(sizes_that_the_function_has_overwritten_before_its_probe_are_not_read)
{
	struct plan_function function = {.matmul = row_of("cublasSgemm_v2")};
	struct plan plan = {.functions = &function, .function_count = 1};

	CHECK(plan_reads_sizes(&function));
	CHECK(plan_has_matmuls(&plan));
	function.lost_arguments = instruction_argument_register(1);
	CHECK(plan_reads_sizes(&function));
	function.lost_arguments = instruction_argument_register(5);
	CHECK(!plan_reads_sizes(&function));
	CHECK(!plan_has_matmuls(&plan));
	function.lost_arguments = 0;
	function.counted = true;
	CHECK(!plan_reads_sizes(&function));
	function = (struct plan_function){0};
	CHECK(!plan_reads_sizes(&function));
}

#if __has_include(<library_types.h>)
#include <library_types.h>

TEST(types_are_numbered_as_cuda_does)
{
	CHECK_U64(VALUE_data_type_f32, CUDA_R_32F + 1);
	CHECK_U64(VALUE_data_type_f64, CUDA_R_64F + 1);
	CHECK_U64(VALUE_data_type_f16, CUDA_R_16F + 1);
	CHECK_U64(VALUE_data_type_i8, CUDA_R_8I + 1);
	CHECK_U64(VALUE_data_type_complex_f32, CUDA_C_32F + 1);
	CHECK_U64(VALUE_data_type_complex_f64, CUDA_C_64F + 1);
	CHECK_U64(VALUE_data_type_u8, CUDA_R_8U + 1);
	CHECK_U64(VALUE_data_type_i32, CUDA_R_32I + 1);
	CHECK_U64(VALUE_data_type_bf16, CUDA_R_16BF + 1);
	CHECK_U64(VALUE_data_type_complex_bf16, CUDA_C_16BF + 1);
	CHECK_U64(VALUE_data_type_i4, CUDA_R_4I + 1);
	CHECK_U64(VALUE_data_type_u64, CUDA_R_64U + 1);
	CHECK_U64(VALUE_data_type_complex_u64, CUDA_C_64U + 1);
}
#endif

UNIT_MAIN()
